"""Two-level segregated fit: allocations never overlap, and freed ranges are merged."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vkgroup.device import segregated_fit
from vkgroup.device.segregated_fit import GRANULE, SegregatedFit

_SIZE = 4096 * GRANULE


@given(st.data())
def test_allocations_do_not_overlap_and_are_aligned(data: st.DataObject) -> None:
    fit = SegregatedFit(_SIZE)
    sizes: dict[int, int] = {}
    for _ in range(data.draw(st.integers(1, 60))):
        if sizes and data.draw(st.booleans()):
            offset = data.draw(st.sampled_from(sorted(sizes)))
            del sizes[offset]
            fit.free(offset)
        else:
            size = data.draw(st.one_of(st.integers(1, 5000), st.integers(1, _SIZE)))
            alignment = 1 << data.draw(st.integers(0, 16))
            offset = fit.allocate(size, alignment)
            if offset is not None:
                assert offset % alignment == 0
                sizes[offset] = size
        _check(fit, sizes)


def _check(fit: SegregatedFit, sizes: dict[int, int]) -> None:
    """All bytes belong to exactly one range, no two free ranges are neighbours, and allocations have room."""
    end, was_free = 0, False
    allocated: dict[int, int] = {}
    for offset, size, free in fit.ranges():
        assert offset == end
        assert not (free and was_free)
        end, was_free = offset + size, free
        if not free:
            allocated[offset] = size
    assert end == fit.size
    assert allocated == {offset: SegregatedFit.rounded(size) for offset, size in sizes.items()}
    assert fit.used == sum(allocated.values())


@given(st.lists(st.integers(1, 64 * GRANULE), min_size=1, max_size=60), st.randoms())
def test_everything_is_one_range_again_when_all_is_freed(sizes: list[int], order: object) -> None:
    fit = SegregatedFit(_SIZE)
    offsets = [offset for size in sizes if (offset := fit.allocate(size)) is not None]
    order.shuffle(offsets)  # type: ignore[attr-defined]
    for offset in offsets:
        fit.free(offset)
    assert fit.ranges() == [(0, _SIZE, True)]
    assert fit.allocate(_SIZE) == 0


@given(st.integers(1, 4096), st.integers(1, 4096))
def test_a_request_fits_if_a_free_range_is_one_sixteenth_larger(free: int, request: int) -> None:
    fit = SegregatedFit(free * GRANULE)
    offset = fit.allocate(request * GRANULE)
    if request > free:
        assert offset is None
    # A list's ranges differ by less than a sixteenth of the smallest one.
    elif free >= request + max(1, request // 16):
        assert offset == 0


def test_an_unknown_offset_is_an_error() -> None:
    fit = SegregatedFit(_SIZE)
    offset = fit.allocate(1)
    assert offset is not None
    fit.free(offset)
    with pytest.raises(KeyError):
        fit.free(offset)


@contextmanager
def _interrupted(place: int) -> Iterator[None]:
    """Raise KeyboardInterrupt, as Ctrl-C does, before one of the instructions that the allocator executes."""
    left = place

    def trace(frame: FrameType, event: str, _argument: object) -> Callable[..., object] | None:
        nonlocal left
        if frame.f_code.co_filename != segregated_fit.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def _filled() -> tuple[SegregatedFit, dict[int, int]]:
    """Return 4 KiB ranges, every other one of which is free."""
    fit = SegregatedFit(_SIZE)
    offsets = [fit.allocate(4096) for _ in range(8)]
    for offset in offsets[::2]:
        assert offset is not None
        fit.free(offset)
    return fit, {offset: 4096 for offset in offsets[1::2] if offset is not None}


def test_ctrl_c_at_any_instruction_loses_no_range() -> None:
    """An allocation that was interrupted exists or not; one that was to be freed as well."""
    ended = 0
    for place in range(10_000):
        fit, sizes = _filled()
        freed = min(sizes)
        try:
            with _interrupted(place):
                fit.free(freed)
                fit.allocate(1000, 8192)
                ended += 1
        except KeyboardInterrupt:
            pass
        fit.allocate(4096)
        now = {offset: size for offset, size, free in fit.ranges() if not free}
        assert {offset: size for offset, size in sizes.items() if offset != freed}.items() <= now.items()
        _check(fit, now)
        for offset in now:
            fit.free(offset)
        assert fit.ranges() == [(0, _SIZE, True)]
        if ended:
            break
    assert place > 300
