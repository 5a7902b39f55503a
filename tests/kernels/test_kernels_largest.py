"""Kernels on the largest buffer that a device has; deselected where no GPU has the memory for that.

Data is made on the device by a formula, whose results are a formula too: they are compared on the device,
every one, and a sample of both once more on the host. The same tests run on small buffers of the software
drivers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import OutOfMemory
from vkgroup.dispatch import Buffer, Device
from vkgroup.drivers import CachedDriver

kernels: Any = vkgroup.kernels

_HEAD = """#version 460
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint count; };
layout(std430, binding = 0) buffer Values { uint values[]; };
"""
_LOOP = "for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * 256u)"
MAKE = f"{_HEAD} void main() {{ {_LOOP} values[i] = (FORMULA); }}"
COMPARE = f"""{_HEAD}
layout(std430, binding = 1) buffer Found {{ uint found[2]; }};
void main() {{
    {_LOOP} if (values[i] != (FORMULA)) {{
        atomicAdd(found[0], 1u);
        atomicMin(found[1], i);
    }}
}}"""
_GROUPS = 4096
_PERIOD = 1000
_SMALL = 300_007

Formula = Callable[[int], int]


def _run(source: str, values: Buffer, count: int, formula: str, **more: Any) -> Any:
    device = Device.of(values)
    assert device is not None
    module = device.compile(source, stage="compute", defines={"FORMULA": formula})
    groups = min(_GROUPS, -(-count // 256))
    return device.run(module, groups, {"values": values, **more}, push={"count": count})


def _make(device: Device, count: int, formula: str) -> Buffer:
    """Return a buffer of `count` numbers, made of their index `i` by a formula of GLSL."""
    values = device.empty(count, np.uint32)
    _run(MAKE, values, count, formula)
    return values


def _compare(values: Buffer, count: int, formula: str, again: Formula) -> None:
    """Compare all numbers with a formula of GLSL, and some with the same one in Python."""
    assert values.nbytes >= 4 * count
    found = np.array([0, 2**32 - 1], np.uint32)
    wrong, first = _run(COMPARE, values, count, formula, found=found)["found"]
    assert wrong == 0, f"{wrong} of {count} are wrong, the first is number {first}"
    places = {*np.linspace(0, count - 1, 20).astype(np.int64).tolist(), *range(3), count - 2}
    for place in places:
        assert values.read(np.uint32, 1, offset=4 * place)[0] == again(place) % 2**32, place


def check_reduce(device: Device, count: int, implementation: str) -> None:
    with _make(device, count, f"i % {_PERIOD}u") as values:
        whole, rest = divmod(count, _PERIOD)
        total = whole * (_PERIOD * (_PERIOD - 1) // 2) + rest * (rest - 1) // 2
        assert kernels.sum(values, implementation=implementation).read() == total % 2**32
        values.write(np.array([2**32 - 1], np.uint32), offset=4 * (count - 2))
        assert kernels.max(values, implementation=implementation).read() == 2**32 - 1
        assert kernels.argmax(values, implementation=implementation).read() == count - 2


def check_reduce_floats(device: Device, count: int, implementation: str) -> None:
    """Sums are whole numbers below 2^24, so that nothing is rounded."""
    with _make(device, count, "i % 256u == 0u ? floatBitsToUint(1.0) : 0u") as values:
        found = kernels.sum(values.view(np.float32), implementation=implementation)
        assert found.read() == -(-count // 256)


def check_scan(device: Device, count: int, implementation: str) -> None:
    def sums(place: int) -> int:
        whole, rest = divmod(place, _PERIOD)
        return whole * (_PERIOD * (_PERIOD - 1) // 2) + rest * (rest + 1) // 2

    period = f"{_PERIOD}u"
    formula = f"(i / {period}) * ({period} * ({period} - 1u) / 2u)"
    formula += f" + (i % {period}) * (i % {period} + 1u) / 2u"
    with (
        _make(device, count, f"i % {period}") as values,
        kernels.cumsum(values, implementation=implementation) as scanned,
    ):
        _compare(scanned, count, formula, sums)


def check_scan_floats(device: Device, count: int, implementation: str) -> None:
    def sums(place: int) -> int:
        return int(np.float32(place // 256 + 1).view(np.uint32))

    with (
        _make(device, count, "i % 256u == 0u ? floatBitsToUint(1.0) : 0u") as values,
        kernels.cumsum(values.view(np.float32), implementation=implementation) as scanned,
    ):
        _compare(scanned, count, "floatBitsToUint(float(i / 256u + 1u))", sums)


def check_compact(device: Device, count: int, implementation: str) -> None:
    kept = -(-count // 3)
    with _make(device, count, "i % 3u == 0u ? i : i | 0x80000000u") as values:
        found = kernels.compact(values, "<", 1 << 31, implementation=implementation)
        assert found.shape == (kept,)
        _compare(found, kept, "3u * i", lambda place: 3 * place)


def check_indices(device: Device, count: int, implementation: str) -> None:
    """More than half of them are found."""
    number = 2 * (count // 3) + min(count % 3, 2)
    with _make(device, count, "(i + 1u) % 3u") as values:
        found = kernels.flatnonzero(values, implementation=implementation)
        assert found.shape == (number,)
        _compare(found, number, "i / 2u * 3u + i % 2u", lambda place: place // 2 * 3 + place % 2)


def check_histogram(device: Device, count: int, implementation: str) -> None:
    """Few bins, more than shared memory has, and one that gets everything."""
    for bins in (_PERIOD, 1 << 16):
        with _make(device, count, f"i % {bins}u") as values:
            counts = kernels.bincount(values, implementation=implementation).read()
        whole, rest = divmod(count, bins)
        np.testing.assert_array_equal(counts, whole + (np.arange(bins) < rest))
    with _make(device, count, "7u") as values:
        counts = kernels.bincount(values, implementation=implementation).read()
    assert counts.tolist() == [0] * 7 + [count]


class Shuffled:
    """The numbers below `count`, each once, in an order that is easy to follow in both directions.

    All but the last few are seen as `rows` rows, a power of two, of `columns`. Number `i`, in row r and
    column c, is c · rows + (r · odd + c) mod rows: for each c another order of the numbers below `rows`.
    """

    odd = 0x9E3779B1

    def __init__(self, count: int) -> None:
        self.rows = 1 << (count.bit_length() // 2)
        self.columns = count // self.rows
        self.whole = self.rows * self.columns
        self.back = pow(self.odd, -1, self.rows)

    @property
    def formula(self) -> str:
        """Return the number at position `i`."""
        row, column = f"(i / {self.columns}u)", f"(i % {self.columns}u)"
        shuffled = f"{column} * {self.rows}u + (({row} * {self.odd}u + {column}) & {self.rows - 1}u)"
        return f"i < {self.whole}u ? {shuffled} : i"

    @property
    def places(self) -> str:
        """Return the position of the number `i`."""
        column = f"(i / {self.rows}u)"
        row = f"(((i - {column}) * {self.back}u) & {self.rows - 1}u)"
        return f"i < {self.whole}u ? {row} * {self.columns}u + {column} : i"

    def place(self, number: int) -> int:
        """`places` of one number."""
        if number >= self.whole:
            return number
        column = number // self.rows
        return (number - column) * self.back % self.rows * self.columns + column


def check_sort(device: Device, count: int, implementation: str) -> None:
    """Keys fill all 32 bits, in the order of the numbers of which they are made."""
    high = 32 - count.bit_length()
    numbers = Shuffled(count)
    with (
        _make(device, count, f"({numbers.formula}) << {high}u") as keys,
        kernels.sort(keys, implementation=implementation) as found,
    ):
        _compare(found, count, f"i << {high}u", lambda place: place << high)


def check_sort_by_key(device: Device, count: int, implementation: str) -> None:
    numbers = Shuffled(count)
    with _make(device, count, numbers.formula) as keys, _make(device, count, "i") as values:
        found, moved = kernels.sort_by_key(keys, values, implementation=implementation)
        with found, moved:
            _compare(found, count, "i", lambda place: place)
            _compare(moved, count, numbers.places, numbers.place)


def check_argsort(device: Device, count: int, implementation: str) -> None:
    """Of two keys alone, each very often: nothing but stability gives an order."""
    zeros = -(-count // 2)
    with (
        _make(device, count, "i % 2u") as keys,
        kernels.argsort(keys, implementation=implementation) as found,
    ):
        _compare(
            found,
            count,
            f"i < {zeros}u ? 2u * i : 2u * (i - {zeros}u) + 1u",
            lambda place: 2 * place if place < zeros else 2 * (place - zeros) + 1,
        )


CHECKS = [
    check_reduce,
    check_reduce_floats,
    check_scan,
    check_scan_floats,
    check_compact,
    check_indices,
    check_histogram,
    check_sort,
    check_sort_by_key,
    check_argsort,
]
each_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__[6:])
each_implementation = pytest.mark.parametrize("implementation", ["subgroup", "shared"])


def largest(device: Device) -> int:
    """Return the most 32-bit numbers that a buffer has which can be bound as a whole.

    A device may refuse to allocate as much at once as it can bind (`maxMemoryAllocationSize`).
    """
    limits = device.capabilities.limits
    most = int(limits["maxStorageBufferRange"])
    try:
        device.buffer(most // 4 * 4).close()
    except OutOfMemory:
        most = min(most, int(limits["maxMemoryAllocationSize"]))
    return most // 4


@pytest.fixture(scope="module")
def gpu_with_room() -> Iterator[tuple[Device, int]]:
    """The GPU and the numbers of its largest buffer. Where this is asked for in vain, it is deselected."""
    with vkgroup.open("gpu") as device:
        yield device, largest(device)


@pytest.mark.gpu
@each_implementation
@each_check
def test_the_largest_buffer(
    gpu_with_room: tuple[Device, int], check: Callable[..., None], implementation: str
) -> None:
    check(*gpu_with_room, implementation)


@each_implementation
@each_check
def test_a_small_buffer(swiftshader: CachedDriver, check: Callable[..., None], implementation: str) -> None:
    with vkgroup.open(swiftshader.name) as device:
        check(device, _SMALL, implementation)


@pytest.mark.parametrize("count", [2, 3, 1000, 4097, 65_535])
def test_shuffled_numbers_come_once_each(count: int, swiftshader: CachedDriver) -> None:
    numbers = Shuffled(count)
    with vkgroup.open(swiftshader.name) as device:
        given = _make(device, count, numbers.formula).read()
        places = _make(device, count, numbers.places).read()
    np.testing.assert_array_equal(given[places], np.arange(count))
    assert [numbers.place(number) for number in range(count)] == places.tolist()


def test_a_comparison_finds_one_wrong_number(swiftshader: CachedDriver) -> None:
    with vkgroup.open(swiftshader.name) as device:
        values = _make(device, 1000, "i")
        values.write(np.array([5], np.uint32), offset=4 * 777)
        with pytest.raises(AssertionError, match="1 of 1000 are wrong, the first is number 777"):
            _compare(values, 1000, "i", lambda place: place)


def test_the_largest_buffer_is_what_can_be_allocated(
    swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with vkgroup.open(swiftshader.name) as device:
        limits = device.capabilities.limits
        made: list[int] = []

        def make(nbytes: int) -> Any:
            made.append(nbytes)
            raise OutOfMemory("too large")

        monkeypatch.setattr(device, "buffer", make)
        assert largest(device) == int(limits["maxMemoryAllocationSize"]) // 4
        assert made == [int(limits["maxStorageBufferRange"]) // 4 * 4]
