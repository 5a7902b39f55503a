"""Dispatches whose numbers of workgroups, or whose condition, lie in buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import DriverError, InvalidDispatch
from vkgroup.dispatch import Device
from vkgroup.dispatch.commands import Condition
from vkgroup.dispatch.pipeline import Work
from vkgroup.drivers import CachedDriver

# Counts its workgroups, and writes down how many it was told that there are.
_SHADER = """
#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer Found { uint started; uint told[3]; };
void main() {
    atomicAdd(started, 1u);
    told = uint[](gl_NumWorkGroups.x, gl_NumWorkGroups.y, gl_NumWorkGroups.z);
}
"""

Run = Callable[[Callable[[Work], None]], list[int]]


@pytest.fixture(scope="module")
def run(device: Device) -> Run:
    """Run something with the shader bound; gives what the shader wrote."""
    pipeline = device.pipeline(device.compile(_SHADER))

    def go(work: Callable[[Work], None]) -> list[int]:
        with pipeline.bind({"Found": np.zeros(4, np.uint32)}) as bound:
            work(bound)
            found: list[int] = bound.results()["Found"].tolist()
            return found

    return go


def _words(device: Device, *words: int) -> Any:
    return device.buffer(np.array(words, np.uint32))


def test_counts_come_from_a_buffer(device: Device, run: Run) -> None:
    """The shader runs on as many workgroups, and sees their numbers, at any offset."""
    counts = _words(device, 9, 9, 4, 3, 2, 9)
    assert run(lambda bound: bound.dispatch_indirect(counts, 8)) == [24, 4, 3, 2]


def test_counts_are_read_at_each_dispatch(device: Device, run: Run) -> None:
    """The buffer's content at the start of the work counts; zero starts no invocation."""
    counts = _words(device, 2, 1, 1)

    def twice(bound: Work) -> None:
        bound.dispatch_indirect(counts)
        counts.write(np.array([3, 1, 1], np.uint32))
        bound.dispatch_indirect(counts)
        counts.write(np.array([3, 0, 1], np.uint32))
        bound.dispatch_indirect(counts)

    assert run(twice) == [5, 3, 1, 1]


def test_counts_written_by_a_shader(device: Device, run: Run) -> None:
    """A dispatch sees what the one before it wrote, without more ado."""
    counts = _words(device, 0, 0, 0)
    source = """
    #version 450
    layout(binding = 0) buffer Counts { uint counts[3]; };
    void main() { counts = uint[](5u, 1u, 2u); }
    """
    device.run(source, 1, {"Counts": counts})
    assert run(lambda bound: bound.dispatch_indirect(counts)) == [10, 5, 1, 2]


@pytest.mark.parametrize("offset", [-4, 2, 4, 0.0, None])
def test_wrong_offsets_are_refused(device: Device, run: Run, offset: Any) -> None:
    """An offset is a multiple of 4 with three numbers behind it."""
    counts = _words(device, 1, 1, 1)
    with pytest.raises(InvalidDispatch, match=r"offset|from byte"):
        run(lambda bound: bound.dispatch_indirect(counts, offset))


def test_wrong_buffers_are_refused(device: Device, run: Run) -> None:
    """An array, a closed buffer and one of another device are none to read from."""
    with pytest.raises(InvalidDispatch, match="must lie in a Buffer"):
        run(lambda bound: bound.dispatch_indirect(np.ones(3, np.uint32)))  # type: ignore[arg-type]
    counts = _words(device, 1, 1, 1)
    counts.close()
    with pytest.raises(DriverError, match="closed"):
        run(lambda bound: bound.dispatch_indirect(counts))
    with vkgroup.open("reference:8") as other:
        foreign = _words(other, 1, 1, 1)
        with pytest.raises(InvalidDispatch, match="same device"):
            run(lambda bound: bound.dispatch_indirect(foreign))


def test_counts_over_the_limit_never_reach_the_device(device: Device, run: Run) -> None:
    """Vulkan leaves open what happens, so it does not happen (VUID-VkDispatchIndirectCommand-x-00417)."""
    counts = _words(device, 1, 2**32 - 1, 1)
    with pytest.raises(InvalidDispatch):
        run(lambda bound: bound.dispatch_indirect(counts))


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("word", [0, 1, 0x80000000])
def test_conditions_discard_dispatches(device: Device, run: Run, word: int, inverted: bool) -> None:
    """Zero discards both kinds of dispatches; inverted, anything else does."""
    condition = Condition(_words(device, 7, word), 4, inverted)
    counts = _words(device, 3, 1, 1)

    def both(bound: Work) -> None:
        bound.dispatch(2, condition=condition)
        bound.dispatch_indirect(counts, condition=condition)

    runs = (word != 0) != inverted
    assert run(both)[0] == (5 if runs else 0)


def test_a_condition_is_read_at_each_dispatch(device: Device, run: Run) -> None:
    """The same condition can let one dispatch run and not the next."""
    words = _words(device, 1)

    def thrice(bound: Work) -> None:
        for word in (1, 0, 1):
            words.write(np.array([word], np.uint32))
            bound.dispatch(1, condition=Condition(words))

    assert run(thrice)[0] == 2


@pytest.mark.parametrize("offset", [-4, 2, 4])
def test_wrong_conditions_are_refused(device: Device, run: Run, offset: int) -> None:
    """A condition has an aligned place inside of its buffer."""
    condition = Condition(_words(device, 1), offset)
    with pytest.raises(InvalidDispatch):
        run(lambda bound: bound.dispatch(1, condition=condition))


def test_who_reads_conditions(swiftshader: CachedDriver, lavapipe: CachedDriver) -> None:
    """A device with VK_EXT_conditional_rendering reads them itself, elsewhere they are read here."""
    began = {}
    for driver in (swiftshader, lavapipe):
        with vkgroup.open(driver.name) as device:
            began[driver.name] = _count_begins(device)
    assert list(began.values()) == [0, 1]


def _count_begins(device: Device) -> int:
    """Discard a dispatch, and count how many times the device was told to read the condition."""
    functions = device._base.functions  # type: ignore[attr-defined]
    begin, count = None, 0
    if functions.has("vkCmdBeginConditionalRenderingEXT"):
        begin = functions.vkCmdBeginConditionalRenderingEXT

    def counting(*arguments: Any) -> None:
        nonlocal count
        assert begin is not None
        count += 1
        begin(*arguments)

    functions.vkCmdBeginConditionalRenderingEXT = counting
    with device.pipeline(device.compile(_SHADER)).bind({"Found": np.zeros(4, np.uint32)}) as bound:
        bound.dispatch(1, condition=Condition(_words(device, 0)))
        assert bound.results()["Found"].tolist() == [0, 0, 0, 0]
    return count
