"""Registers of the waves that run together."""

from __future__ import annotations

from typing import Any

import numpy as np

from vkgroup.amd.arrays import Array, Mask
from vkgroup.amd.memory import GpuMemory
from vkgroup.amd.text import EXEC, NULL


class Waves:
    """Waves of the same program, with all their registers; instructions act on the selected ones.

    Attributes
    ----------
    s : scalar registers, (128, waves), uint32.
    v : vector registers, (registers, waves, lanes), uint32.
    scc : the scalar condition, (waves,), bool.
    group : number of each wave's workgroup among those that run together, (waves,).
    local : the local data of the workgroups, one after the other, uint8; `local_size` bytes each.
    mode : the MODE register: rounding in bits 0 to 3, denormals in bits 4 to 7.
    memory : the memory of the GPU.
    """

    def __init__(
        self, count: int, lanes: int, registers: int, group: Array, local_size: int, memory: GpuMemory
    ) -> None:
        self.count, self.lanes = count, lanes
        self.s = np.zeros((128, count), np.uint32)
        self.v = np.zeros((registers, count, lanes), np.uint32)
        self.scc = np.zeros(count, np.bool_)
        self.group, self.local_size = group, local_size
        groups = int(group.max()) + 1 if count else 0
        self.local = np.zeros(groups * local_size, np.uint8)
        self.memory = memory
        self.mode = 0xF0
        self.members: Mask | None = None
        self._active: Mask | None = None
        self._is_known = False
        self.scratch_memory, self.scratch_size = memory, 0  # of all waves; bytes of one wave
        self.shared_from = len(self.v)  # number of the first register that both halves of a wave share
        self.next = 0  # address of the instruction after the current one
        self.executed = 0  # instructions, for the clock

    def select(self, members: Mask | None) -> None:
        """Let the following instructions act on some waves, (waves,); None selects all."""
        self.members = members
        self._is_known = False

    @property
    def active(self) -> Mask | None:
        """The lanes of the selected waves that are switched on, (waves, lanes); None if all are."""
        if not self._is_known:
            lanes = self.mask(EXEC)
            if self.members is not None:
                lanes = lanes & self.members[:, None]
            self._active = None if lanes.all() else lanes
            self._is_known = True
        return self._active

    @property
    def active_lanes(self) -> Mask:
        """The lanes of the selected waves that are switched on, (waves, lanes)."""
        active = self.active
        return np.ones((self.count, self.lanes), np.bool_) if active is None else active

    def mask(self, register: int) -> Mask:
        """Return the bits of one or two scalar registers, (waves, lanes), as one bool a lane."""
        words = np.ascontiguousarray(self.s[register : register + self.lanes // 32].T)
        return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").view(np.bool_)

    def set_mask(self, register: int, lanes: Mask) -> None:
        """Write one bool a lane, which may be broadcast, to one or two scalar registers."""
        full = np.broadcast_to(lanes, (self.count, self.lanes))
        words = np.ascontiguousarray(np.packbits(full, axis=1, bitorder="little")).view(np.uint32)
        for part in range(self.lanes // 32):
            self.set_scalar(register + part, words[:, part])

    def set_scalar(self, register: int, value: Any) -> None:
        """Write a scalar register of the selected waves; values are uint32, (waves,) or one for all."""
        if register == NULL:
            return
        if self.members is None:
            self.s[register] = value
        else:
            np.copyto(self.s[register], value, where=self.members)
        if register >= EXEC:
            self._is_known = False

    def set_condition(self, value: Any) -> None:
        """Write the scalar condition of the selected waves."""
        if self.members is None:
            self.scc[...] = value
        else:
            np.copyto(self.scc, value, where=self.members)

    def set_vector(self, register: int, value: Any, lanes: Mask | None = None) -> None:
        """Write a vector register in the active lanes; `lanes` takes their place."""
        where = self.active if lanes is None else lanes
        if register >= self.shared_from:
            self._set_shared(register, value, where)
        elif where is None:
            self.v[register] = value
        else:
            np.copyto(self.v[register], value, where=where)

    def _set_shared(self, register: int, value: Any, where: Mask | None) -> None:
        """Write a register of 32 lanes that both halves of a wave of 64 share: the upper half comes last."""
        values = np.broadcast_to(value, (self.count, self.lanes))
        for half in (slice(0, 32), slice(32, 64)):
            chosen = True if where is None else where[:, half]
            np.copyto(self.v[register][:, :32], values[:, half], where=chosen)
        self.v[register][:, 32:] = self.v[register][:, :32]

    def of_first_member(self, value: Any) -> Any:
        """Return the element of the first selected wave, from values of shape (waves,) or one for all."""
        values = np.asarray(value)
        if not values.ndim:
            return values
        return values[0 if self.members is None else int(self.members.argmax())]

    def clock(self) -> int:
        """Return the time: one tick an instruction."""
        return self.executed

    def give_scratch(self, size: int) -> None:
        """Make scratch memory of `size` bytes for each lane."""
        self.scratch_size = size * self.lanes
        self.scratch_memory = GpuMemory(np.zeros(max(8, self.count * self.scratch_size), np.uint8))
        self.scratch_memory.map(0, len(self.scratch_memory.data), 0)

    def scratch_places(self, offset: Array) -> Array:
        """Return addresses in the scratch memory, whose words of one offset lie side by side, one a lane."""
        wave, lane = np.arange(self.count)[:, None], np.arange(self.lanes)
        place = wave * self.scratch_size + offset // 4 * (4 * self.lanes) + lane * 4 + offset % 4
        return place.astype(np.uint64)
