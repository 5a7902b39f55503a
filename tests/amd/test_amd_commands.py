"""The command processor: registers, dispatches, copies and writes of PM4 packets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from vkgroup.amd.commands import CommandProcessor
from vkgroup.amd.dispatch import ComputeDispatch
from vkgroup.amd.errors import MemoryFault, MissingPart
from vkgroup.amd.memory import GpuMemory

START = 0x8000_0001_0000
SIZE = 1 << 14


class Recorded:
    """A command processor whose dispatches are recorded, and its memory."""

    def __init__(self, generation: float = 11.0) -> None:
        self.memory = GpuMemory(np.zeros(SIZE, np.uint8))
        self.memory.map(START, SIZE, 0)
        self.dispatches: list[ComputeDispatch] = []
        self.processor = CommandProcessor(
            self.memory, generation, self.dispatches.append, lambda: 0x1_0000_0007
        )

    def run(self, *packets: Sequence[int], at: int = 0x2000) -> None:
        """Write packets (opcode, then body) to memory, and execute them."""
        words = [
            word for code, *body in packets for word in (3 << 30 | len(body) - 1 << 16 | code << 8, *body)
        ]
        self.memory.words(START + at, len(words))[:] = words
        self.processor.execute(START + at, len(words))


def low_high(address: int) -> tuple[int, int]:
    """Return the halves of an address."""
    return address & 0xFFFFFFFF, address >> 32


def test_a_dispatch_has_the_registers_that_were_set() -> None:
    recorded = Recorded()
    recorded.run(
        (0x76, 0x20C, 0x1234, 0x80), (0x76, 0x207, 8, 4, 2), (0x76, 0x240, 7, 9), (0x15, 3, 2, 1, 0x8005)
    )  # fmt: skip
    (dispatch,) = recorded.dispatches
    assert dispatch.groups == (3, 2, 1)
    assert dispatch.size == (8, 4, 2)
    assert dispatch.wave == 32
    assert dispatch.address == 0x80_0000_0000_00 + (0x1234 << 8)
    assert dispatch.registers[0x240] == 7
    assert dispatch.registers[0x241] == 9


@pytest.mark.parametrize(
    "packet",
    [
        (0xBA, 0x240, 7, 0x241, 9),
        (0xBB, 2, 0x240 | 0x241 << 16, 7, 9),
        (0xBD, 2, 0x240 | 0x241 << 16, 7, 9),
        (0x9B, 0x240 | 3 << 28, 7, 9),
    ],
)
def test_packets_that_set_registers(packet: Sequence[int]) -> None:
    recorded = Recorded()
    recorded.run(packet, (0x15, 1, 1, 1, 5))
    registers = recorded.dispatches[0].registers
    assert (registers[0x240], registers[0x241]) == (7, 9)


def test_the_first_workgroup_and_the_count_of_a_dispatch_with_a_base() -> None:
    recorded = Recorded()
    # Without FORCE_START_AT_000 the counts are the ends.
    recorded.run((0x76, 0x204, 1, 2, 3), (0x15, 4, 4, 4, 1))
    assert recorded.dispatches[0].first == (1, 2, 3)
    assert recorded.dispatches[0].groups == (3, 2, 1)


def test_counts_in_threads_leave_a_partial_workgroup() -> None:
    recorded = Recorded()
    recorded.run((0x76, 0x207, 64, 1, 1), (0x15, 100, 1, 1, 0x25))
    assert recorded.dispatches[0].groups == (2, 1, 1)
    assert recorded.dispatches[0].partial == (36, 0, 0)


def test_an_indirect_dispatch_reads_its_counts() -> None:
    recorded = Recorded()
    recorded.memory.words(START + 64, 3)[:] = [5, 6, 7]
    recorded.run((0x16, *low_high(START + 64), 5))
    recorded.run((0x11, 1, *low_high(START)), (0x16, 64, 5))
    assert [dispatch.groups for dispatch in recorded.dispatches] == [(5, 6, 7)] * 2
    recorded.memory.words(START + 64, 3)[:] = [0, 6, 7]
    recorded.run((0x16, *low_high(START + 64), 5))
    assert len(recorded.dispatches) == 2


def test_registers_are_loaded_from_memory() -> None:
    recorded = Recorded()
    recorded.memory.words(START + 64, 3)[:] = [5, 6, 7]
    recorded.run((0x63, *low_high(START + 64), 0x242, 3), (0x15, 1, 1, 1, 5))
    registers = recorded.dispatches[0].registers
    assert [registers[0x242 + number] for number in range(3)] == [5, 6, 7]
    with pytest.raises(MissingPart):  # pairs of offset and value
        recorded.run((0x63, *low_high(START + 64), 0x242 | 1 << 31, 3))


def test_another_buffer_of_packets_is_called() -> None:
    recorded = Recorded()
    inner = [3 << 30 | 3 << 16 | 0x15 << 8, 1, 2, 3, 5]
    recorded.memory.words(START + 0x1000, 5)[:] = inner
    recorded.run((0x3F, *low_high(START + 0x1000), 5), (0x15, 9, 1, 1, 5))
    assert [dispatch.groups for dispatch in recorded.dispatches] == [(1, 2, 3), (9, 1, 1)]


def test_memory_is_copied_filled_and_written() -> None:
    recorded = Recorded()
    recorded.memory.words(START, 4)[:] = [1, 2, 3, 4]
    recorded.run(
        (0x50, 3 << 29 | 3 << 20, *low_high(START), *low_high(START + 256), 16),
        (0x50, 2 << 29 | 3 << 20, 0xABCD, 0, *low_high(START + 512), 8),
        (0x37, 5 << 8, *low_high(START + 1024), 11, 12),
        (0x40, 1 | 5 << 8, *low_high(START + 4), *low_high(START + 1032)),
        (0x40, 9 | 5 << 8 | 1 << 16, 0, 0, *low_high(START + 1040)),
    )
    assert recorded.memory.words(START + 256, 4).tolist() == [1, 2, 3, 4]
    assert recorded.memory.words(START + 512, 3).tolist() == [0xABCD, 0xABCD, 0]
    assert recorded.memory.words(START + 1024, 3).tolist() == [11, 12, 2]
    assert recorded.memory.words(START + 1040, 2).tolist() == [7, 1]


@pytest.mark.parametrize(("select", "expected"), [(1, [5, 0]), (2, [5, 6]), (3, [7, 1])])
def test_what_is_written_at_the_end_of_work(select: int, expected: list[int]) -> None:
    recorded = Recorded()
    recorded.run((0x49, 0x14, select << 29, *low_high(START), 5, 6, 0))
    assert recorded.memory.words(START, 2).tolist() == expected


@pytest.mark.parametrize(("condition", "count"), [(0, 1), (1, 2)])
def test_packets_that_depend_on_a_word(condition: int, count: int) -> None:
    recorded = Recorded()
    recorded.memory.words(START, 1)[0] = condition
    recorded.run((0x22, *low_high(START), 0, 5), (0x15, 1, 1, 1, 5), (0x15, 2, 1, 1, 5))
    assert len(recorded.dispatches) == count


def test_an_unknown_packet_is_named() -> None:
    with pytest.raises(MissingPart) as raised:
        Recorded().run((0x2D, 3, 2))
    assert raised.value.name == "the packet DRAW_INDEX_AUTO"
    with pytest.raises(MissingPart) as raised:
        Recorded().run((0xEE, 3))
    assert "0xee" in raised.value.name


def test_a_copy_from_nowhere_is_a_fault() -> None:
    with pytest.raises(MemoryFault):
        Recorded().run((0x50, 3 << 29 | 3 << 20, *low_high(START + SIZE), *low_high(START), 16))


def test_ranges_are_mapped_and_unmapped() -> None:
    memory = GpuMemory(np.arange(64, dtype=np.uint8))
    memory.map(0x1000, 32, 0)
    memory.map(0x2000, 32, 32)
    assert memory.load(np.array([0x1004, 0x2004], np.uint64), 4).view(np.uint8).tolist() == [
        4,
        5,
        6,
        7,
        36,
        37,
        38,
        39,
    ]
    memory.unmap(0x1008, 8)
    for address, is_there in ((0x1000, True), (0x1004, True), (0x1008, False), (0x1010, True)):
        if is_there:
            assert memory.bytes(address, 4)[0] == address & 0xFF
        else:
            with pytest.raises(MemoryFault):
                memory.bytes(address, 4)
    # An access at an odd address, and one whose end is not mapped.
    assert memory.load(np.array([0x1001], np.uint64), 2).view(np.uint8).tolist() == [1, 2]
    with pytest.raises(MemoryFault):
        memory.load(np.array([0x1006], np.uint64), 4)
