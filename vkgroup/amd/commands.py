"""Command buffers: the PM4 packets of compute queues."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.amd.dispatch import START_X, THREADS_X, ComputeDispatch
from vkgroup.amd.errors import MissingPart
from vkgroup.amd.memory import GpuMemory

#: Packets without an effect on memory that shaders see: events, barriers, caches, other registers.
IGNORED = {
    0x10: "NOP", 0x12: "CLEAR_STATE", 0x28: "CONTEXT_CONTROL", 0x2A: "INDEX_TYPE", 0x2F: "NUM_INSTANCES",
    0x42: "PFP_SYNC_ME", 0x43: "SURFACE_SYNC", 0x46: "EVENT_WRITE", 0x58: "ACQUIRE_MEM",
    0x68: "SET_CONFIG_REG", 0x69: "SET_CONTEXT_REG", 0x79: "SET_UCONFIG_REG",
    0x7A: "SET_UCONFIG_REG_INDEX", 0x84: "INCREMENT_CE_COUNTER", 0x86: "INCREMENT_DE_COUNTER",
    0x88: "WAIT_ON_CE_COUNTER", 0x8B: "SWITCH_BUFFER", 0xB8: "SET_CONTEXT_REG_PAIRS",
    0xB9: "SET_CONTEXT_REG_PAIRS_PACKED", 0xBE: "SET_UCONFIG_REG_PAIRS", 0x4A: "PREAMBLE_CNTL",
    0x5E: "LOAD_UCONFIG_REG", 0x61: "LOAD_CONTEXT_REG", 0x39: "MEM_SEMAPHORE",
}  # fmt: skip

NAMES = {
    0x11: "SET_BASE", 0x13: "CLEAR_BUFFER", 0x15: "DISPATCH_DIRECT", 0x16: "DISPATCH_INDIRECT",
    0x1E: "ATOMIC_MEM", 0x20: "SET_PREDICATION", 0x22: "COND_EXEC", 0x24: "DRAW_INDIRECT",
    0x27: "DRAW_INDEX_2", 0x2D: "DRAW_INDEX_AUTO", 0x37: "WRITE_DATA", 0x3C: "WAIT_REG_MEM",
    0x3F: "INDIRECT_BUFFER", 0x40: "COPY_DATA", 0x49: "RELEASE_MEM", 0x47: "EVENT_WRITE_EOP",
    0x50: "DMA_DATA", 0x5F: "LOAD_SH_REG", 0x63: "LOAD_SH_REG_INDEX", 0x76: "SET_SH_REG",
    0x9B: "SET_SH_REG_INDEX", 0xA7: "DISPATCH_TASKMESH", 0xBA: "SET_SH_REG_PAIRS",
    0xBB: "SET_SH_REG_PAIRS_PACKED", 0xBD: "SET_SH_REG_PAIRS_PACKED_N",
}  # fmt: skip
"""Names of packets by their opcode."""


class CommandProcessor:
    """Executes packets: keeps the registers of compute shaders, copies memory and starts dispatches.

    `dispatch` is called for each dispatch; `clock` gives the timestamp that is written to memory.
    """

    def __init__(
        self,
        memory: GpuMemory,
        generation: float,
        dispatch: Callable[[ComputeDispatch], None],
        clock: Callable[[], int],
    ) -> None:
        self._memory, self._generation = memory, generation
        self._dispatch, self._clock = dispatch, clock
        self._registers: dict[int, int] = {}
        self._indirect_base = 0

    def execute(self, address: int, count: int) -> None:
        """Execute the packets in `count` words."""
        words = self._memory.words(address, count)
        at = 0
        while at < count:
            header = int(words[at])
            kind = header >> 30
            if kind == 2:  # one word of padding
                at += 1
                continue
            if kind != 3:
                if header in (0, 0xFFFF1000):
                    at += 1
                    continue
                raise MissingPart(f"a packet of type {kind} ({header:#010x})")
            length = (header >> 16 & 0x3FFF) + 1
            if length == 0x4000:  # a NOP of one word
                at += 1
                continue
            code = header >> 8 & 0xFF
            body = [int(word) for word in words[at + 1 : at + 1 + length]]
            at += 1 + length
            at += self._packet(code, body)

    def _packet(self, code: int, body: list[int]) -> int:
        """Execute one packet; return how many of the following words it skips."""
        if code in IGNORED:
            return 0
        name = NAMES.get(code)
        if name in ("SET_SH_REG", "SET_SH_REG_INDEX"):
            for number, value in enumerate(body[1:]):
                self._registers[(body[0] & 0xFFFF) + number] = value
        elif name == "SET_SH_REG_PAIRS":
            for number, value in zip(body[::2], body[1::2], strict=False):
                self._registers[number & 0xFFFF] = value
        elif name in ("SET_SH_REG_PAIRS_PACKED", "SET_SH_REG_PAIRS_PACKED_N"):
            for place in range(1, len(body), 3):
                self._registers[body[place] & 0xFFFF] = body[place + 1]
                self._registers[body[place] >> 16] = body[place + 2]
        elif name == "LOAD_SH_REG_INDEX" and not body[0] & 3 and not body[2] >> 31:  # registers in a row
            values = self._memory.words(body[0] | body[1] << 32, body[3])
            for number, value in enumerate(values):
                self._registers[(body[2] & 0xFFFF) + number] = int(value)
        elif name == "SET_BASE":
            self._indirect_base = body[1] | body[2] << 32
        elif name == "INDIRECT_BUFFER":
            self.execute(body[0] & ~3 | (body[1] & 0xFFFF) << 32, body[2] & 0xFFFFF)
        elif name == "DISPATCH_DIRECT":
            self._start(tuple(body[:3]), body[3])
        elif name == "DISPATCH_INDIRECT":
            if len(body) >= 3:
                address, initiator = body[0] | body[1] << 32, body[2]
            else:
                address, initiator = self._indirect_base + body[0], body[1]
            self._start(tuple(int(word) for word in self._memory.words(address, 3)), initiator)
        elif name == "DMA_DATA":
            self._move(body)
        elif name == "WRITE_DATA":
            self._write(body)
        elif name == "COPY_DATA":
            self._copy(body)
        elif name in ("RELEASE_MEM", "EVENT_WRITE_EOP"):
            self._at_end(name, body)
        elif name == "WAIT_REG_MEM":
            pass  # what is waited for was executed before
        elif name == "COND_EXEC":
            value = int(self._memory.words(body[0] | body[1] << 32, 1)[0])
            return 0 if value else body[-1] & 0x3FFF
        else:
            raise MissingPart(f"the packet {name or f'{code:#x}'}")
        return 0

    def _start(self, groups: tuple[int, ...], initiator: int) -> None:
        x, y, z = groups
        wave = 32 if self._generation >= 10 and initiator >> 15 & 1 else 64
        first = (0, 0, 0)
        if not initiator >> 2 & 1:  # FORCE_START_AT_000
            start = [self._registers.get(START_X + axis, 0) for axis in range(3)]
            first = (start[0], start[1], start[2])
            x, y, z = (max(0, size - begin) for size, begin in zip((x, y, z), first, strict=True))
        partial = (0, 0, 0)
        if initiator >> 1 & 1:  # PARTIAL_TG_EN
            limits = [self._registers.get(THREADS_X + axis, 0) >> 16 for axis in range(3)]
            partial = (limits[0], limits[1], limits[2])
        if initiator >> 5 & 1:  # USE_THREAD_DIMENSIONS: counts are threads
            size = [self._registers.get(THREADS_X + axis, 1) & 0xFFFF for axis in range(3)]
            partial = (x % size[0], y % size[1], z % size[2])
            x, y, z = (-(-n // s) for n, s in zip((x, y, z), size, strict=True))
        if x and y and z:
            self._dispatch(ComputeDispatch((x, y, z), first, dict(self._registers), wave, partial))

    def _move(self, body: list[int]) -> None:
        """DMA_DATA: copy memory, or fill it with one word."""
        source_kind, target_kind = body[0] >> 29 & 3, body[0] >> 20 & 3
        size = body[5] & (0x3FFFFFF if self._generation >= 9 else 0x1FFFFF)
        if not size or target_kind not in (0, 3):
            return
        target = self._memory.bytes(body[3] | body[4] << 32, size)
        if source_kind == 2:
            target.view(np.uint32)[:] = body[1] if size % 4 == 0 else 0
        elif source_kind in (0, 3):
            target[:] = self._memory.bytes(body[1] | body[2] << 32, size).copy()
        else:
            raise MissingPart("DMA_DATA from global data share")

    def _write(self, body: list[int]) -> None:
        """WRITE_DATA: words to memory."""
        target = body[0] >> 8 & 0xF
        if target == 0:  # a register
            return
        data = body[3:]
        address = body[1] | body[2] << 32
        if body[0] >> 16 & 1:  # all to one address
            data = data[-1:]
        self._memory.words(address, len(data))[:] = data

    def _copy(self, body: list[int]) -> None:
        """COPY_DATA: one word or two, from memory, an immediate or the clock."""
        source, target = body[0] & 0xF, body[0] >> 8 & 0xF
        words = 2 if body[0] >> 16 & 1 else 1
        if source in (1, 2, 6):
            value = [int(word) for word in self._memory.words(body[1] | body[2] << 32, words)]
        elif source == 5:
            value = body[1:3][:words]
        elif source == 9:
            clock = self._clock()
            value = [clock & 0xFFFFFFFF, clock >> 32][:words]
        elif source == 0:
            value = [self._registers.get(body[1] - 0x2C00, 0)] + [0] * (words - 1)
        else:
            raise MissingPart(f"COPY_DATA from {source}")
        if target in (1, 2, 5, 6):
            self._memory.words(body[3] | body[4] << 32, words)[:] = value
        elif target == 0 or target == 4:
            number = body[3] - 0x2C00
            if number >= 0:
                self._registers |= {number + place: word for place, word in enumerate(value)}
        else:
            raise MissingPart(f"COPY_DATA to {target}")

    def _at_end(self, name: str, body: list[int]) -> None:
        """RELEASE_MEM: write a value or the clock when all work before has ended."""
        if name == "EVENT_WRITE_EOP":
            low, high, data = body[1], body[2], body[3:5]
            select = high >> 29 & 7
            high &= 0xFFFF
        else:
            select = body[1] >> 29 & 7
            low, high, data = body[2], body[3], body[4:6]
        address = low | high << 32
        if select == 1:
            self._memory.words(address, 1)[0] = data[0]
        elif select == 2:
            self._memory.words(address, 2)[:] = data
        elif select in (3, 4):
            clock = self._clock()
            self._memory.words(address, 2)[:] = [clock & 0xFFFFFFFF, clock >> 32]
        elif select:
            raise MissingPart(f"{name} with data {select}")
