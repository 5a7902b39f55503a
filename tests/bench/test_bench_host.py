"""The host's work in blocks: the same on any number of cores, and nothing wrong slips through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from vkgroup.bench import Data, catalogue, host
from vkgroup.bench.host import first_error

SIZE = 3 * host.BLOCK + 5
PLACES = (0, host.BLOCK - 1, host.BLOCK, 2 * host.BLOCK + 77, SIZE - 1)
RNG = np.random.default_rng(11)


def _set_cores(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    """Let the process run on a number of cores."""
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(cores)), raising=False)


@pytest.fixture(params=[1, 3, 40])
def cores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    _set_cores(monkeypatch, request.param)
    return int(request.param)


def _bits(rng: np.random.Generator, count: int) -> npt.NDArray[Any]:
    return rng.integers(0, 1 << 32, count, np.uint32)


def _data(seed: int) -> npt.NDArray[Any]:
    rng = np.random.default_rng(seed)
    return np.stack([host.drawn(rng, SIZE, np.uint32, _bits) for _ in range(2)])


def test_a_seed_makes_the_same_data_on_any_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for cores in (1, 2, 7):
        _set_cores(monkeypatch, cores)
        found.append(_data(5))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    assert not np.array_equal(found[0], _data(6))


def test_no_two_blocks_and_no_two_arrays_are_the_same() -> None:
    x, y = _data(5)
    assert not np.array_equal(x, y)
    blocks = [x[span].tobytes() for span in host.spans(3 * host.BLOCK)]
    assert len(set(blocks)) == 3


def test_one_block_needs_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(host, "ThreadPoolExecutor")
    x = host.drawn(np.random.default_rng(0), (2, host.BLOCK // 2), np.uint32, _bits)
    assert first_error(Data({}, {"x": x}), {"x": x.copy()}) is None
    assert np.array_equal(host.ordered(x.reshape(-1)), np.sort(x, None))


def test_blocks_cover_everything_once() -> None:
    assert host.spans(0) == []
    assert host.spans(5, 2) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert host.row_spans(np.empty((3, 2 * host.BLOCK), np.uint8)) == host.spans(3, 1)
    assert host.row_spans(np.empty((9, host.BLOCK // 4), np.uint8)) == host.spans(9, 4)


def test_what_is_made_is_what_numpy_makes(cores: int) -> None:
    x = host.made(SIZE, np.int32, lambda span: np.arange(span.start, span.stop))
    assert np.array_equal(x, np.arange(SIZE))
    assert np.array_equal(host.made(SIZE, np.uint8, lambda span: 7), np.full(SIZE, 7))
    assert np.array_equal(host.selected(x, lambda span: x[span] % 3 == 0), x[x % 3 == 0])
    out = np.zeros_like(x)
    assert np.shares_memory(host.selected(x, lambda span: x[span] > SIZE - 3, out), out)
    assert out[:3].tolist() == [SIZE - 2, SIZE - 1, 0]
    table = x[: SIZE // 37 * 37].reshape(-1, 37)
    assert np.array_equal(host.by_rows(lambda rows: rows.max(1), table), table.max(1))
    assert np.array_equal(host.by_rows(lambda rows: rows * 2, table), table * 2)
    assert np.array_equal(host.counted(x % 1000, 1001), np.bincount(x % 1000, minlength=1001))


@pytest.mark.parametrize("operation", [np.add, np.maximum])
@pytest.mark.parametrize("dtype", [np.uint32, np.float32, np.int64])
@pytest.mark.parametrize("size", [0, 1, host.BLOCK, SIZE])
def test_running_results_go_on_from_block_to_block(operation: np.ufunc, dtype: Any, size: int) -> None:
    x = RNG.integers(0, 9, size).astype(dtype)
    assert np.array_equal(host.accumulated(operation, x), operation.accumulate(x, dtype=dtype))


def test_sums_wrap_around_as_numpys_do() -> None:
    x = _bits(RNG, SIZE)
    out = np.empty(SIZE + 1, np.uint32)
    host.accumulated(np.add, x, out[1:])
    assert np.array_equal(out[1:], np.cumsum(x, dtype=np.uint32))


MANY = int(2.3 * host._RUN)
KEYS: dict[str, Callable[[], npt.NDArray[Any]]] = {
    "uniform": lambda: _bits(RNG, MANY),
    "signed": lambda: _bits(RNG, MANY).view(np.int32),
    "equal": lambda: np.full(MANY, 17, np.uint64),
    "narrow": lambda: RNG.integers(0, 3, MANY, np.uint8).astype(np.uint32),
    "skewed": lambda: np.where(RNG.random(MANY) < 0.9, np.uint32(12345), _bits(RNG, MANY)),
    "falling": lambda: np.arange(MANY, dtype=np.int64)[::-1],
    "floats": lambda: RNG.standard_normal(MANY, np.float32),
}


@pytest.mark.parametrize("keys", KEYS)
def test_sorting_is_numpys(keys: str) -> None:
    x = KEYS[keys]()
    before = x.copy()
    assert np.array_equal(host.ordered(x), np.sort(x))
    assert np.array_equal(x, before)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("bound", [0, 0.25, np.full(SIZE, 0.25)], ids=["same", "bound", "bounds"])
def test_one_wrong_element_is_found_in_any_block(cores: int, place: int, bound: Any) -> None:
    x = np.ones(SIZE, np.float32)
    x[7] = np.nan
    found = x.copy()
    data = Data({}, {"y": x}, {"y": bound})
    assert first_error(data, {"y": found}) is None
    for value in (2, np.nan):
        found[place] = value
        said = str(first_error(data, {"y": found}))
        assert f"y[{place}] is {np.float32(value)} instead of 1.0 (1 of {SIZE} elements are wrong)" == said


@pytest.mark.parametrize("place", PLACES)
def test_the_first_difference_is_found_in_any_block(place: int) -> None:
    x = np.arange(SIZE)
    y = x.copy()
    assert host.first_difference(x, y) is None
    y[place] -= 1
    y[-1] += 5
    assert host.first_difference(x, y) == place


def test_all_wrong_elements_of_a_table_are_counted_and_the_first_is_named() -> None:
    table = np.zeros((3, host.BLOCK), np.uint32)
    found = table.astype(np.int64)
    found[1, 5] = found[2, 6] = -1
    said = first_error(Data({}, {"y": table}), {"y": found})
    assert said == f"y[1, 5] is 4294967295 instead of 0 (2 of {table.size} elements are wrong)"


def _of(name: str, size: int) -> Data:
    """Return a definition's data; none of these asks the device."""
    found = next(one for one in catalogue.definitions() if one.name == name)
    device: Any = None
    return found.make(device, size, {}).data(np.random.default_rng(1))


@pytest.mark.parametrize("place", [1, host.BLOCK - 1, host.BLOCK, host.BLOCK + 1, SIZE - 1])
def test_a_sort_of_pairs_is_proven(place: int) -> None:
    data = _of("sort.pairs.uint32", SIZE)
    keys = data.inputs["keys"]
    keys[keys % 2 == 0] = 1 << 31
    order = np.argsort(keys, kind="stable")
    right = {"sorted_keys": keys[order], "sorted_values": order.astype(np.uint32)}
    assert data.verify is not None
    assert data.verify(right) is None

    swapped, repeated, outside = order.copy(), order.copy(), order.copy()
    swapped[[place - 1, place]] = order[[place, place - 1]]
    repeated[place] = order[place - 1]
    outside[place] = SIZE
    for values, words in (
        (swapped, "the order is wrong"),
        (repeated, "the order is wrong"),
        (outside, "is none"),
    ):
        outputs = {"sorted_keys": keys[values % SIZE], "sorted_values": values}
        assert words in str(data.verify(outputs))
    other = right["sorted_keys"].copy()
    other[place] += 1
    assert "not that of its value" in str(data.verify({**right, "sorted_keys": other}))


@pytest.mark.parametrize("name", ["softmax.float32.1000", "layer_norm.float32.1000"])
def test_rows_are_judged_to_the_last_block(name: str) -> None:
    data = _of(name, SIZE)
    x = data.inputs["x"].astype(np.float64)
    if name.startswith("softmax"):
        right = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    else:
        apart = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
        right = apart * data.inputs["weight"] + data.inputs["bias"]
    found = right.astype(np.float32)
    assert data.verify is not None
    assert data.verify({"result": found}) is None
    found[-1, 3] += 0.5
    assert f"row {len(x) - 1} has" in str(data.verify({"result": found}))
    found[0, 0] = np.nan
    assert "row 0 has nan in column 0" in str(data.verify({"result": found}))


def test_what_is_appended_in_any_order_is_counted() -> None:
    data = _of("aggregation.append.float32", SIZE)
    x = data.inputs["x"]
    kept = RNG.permutation(x[x < 0.5])
    outputs = {"kept": np.concatenate([kept, np.full(SIZE - len(kept), 0.25, np.float32)])}
    outputs["count"] = np.array(len(kept), np.uint32)
    assert data.verify is not None
    assert data.verify(outputs) is None
    step = np.float32(2.0**-16)
    for values in ([0.75], [kept[0] + step / 4], [np.nan], [-step], [kept[-1], kept[-1]]):
        other = outputs["kept"].copy()
        first = np.flatnonzero(other[: len(kept)] != kept[-1])[: len(values)]
        other[first] = values
        assert "kept" in str(data.verify({**outputs, "kept": other}))
    # The sum stays what it was.
    other = outputs["kept"].copy()
    low, high = np.flatnonzero((other[: len(kept)] > 0.1) & (other[: len(kept)] < 0.4))[:2]
    other[low] -= step
    other[high] += step
    assert "other elements" in str(data.verify({**outputs, "kept": other}))


def test_kept_elements_and_sorted_bins_are_what_numpy_says() -> None:
    data = _of("bincount.4096.int32.sorted", SIZE)
    keys = data.inputs["x"]
    assert np.array_equal(keys, np.sort(keys))
    assert np.array_equal(np.bincount(keys, minlength=4096), data.expected["counts"])
    data = _of("bincount.256.int32.alternating", SIZE)
    assert np.array_equal(np.bincount(data.inputs["x"], minlength=256), data.expected["counts"])
    assert (np.diff(data.inputs["x"]) != 0).all()
