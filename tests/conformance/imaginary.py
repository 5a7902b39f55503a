"""An imaginary device that answers batches as the reference says, or wrongly where a test wants that."""

from __future__ import annotations

import numpy as np

from vkgroup.conformance import barriers
from vkgroup.conformance.barriers import ROUNDS
from vkgroup.conformance.glsl_types import to_planes
from vkgroup.conformance.instances import pack, read
from vkgroup.conformance.program import LANE_PLANES, SLOT_PLANES, build, result_type
from vkgroup.conformance.verdict import expected_of

ACTIVE = {"all": lambda lane: lane >= 0, "partial": lambda lane: lane >= 0, "odd": lambda lane: lane % 2 == 1}


class Imaginary:
    """The outputs of one batch on a device that puts invocations into subgroups one after another."""

    def __init__(self, cases, size=8, seed=3):
        self.program = program = build(list(cases), size=size, seed=seed)
        n, local = program.invocations, int(np.prod(program.local_size))
        self.outputs = np.full(program.output_words, 0xA5A5A5A5, np.uint32)
        place = np.arange(n) % local
        self.lane, self.subgroup = place % size, place // size
        self.lanes = self.outputs[: LANE_PLANES * n].reshape(LANE_PLANES, n)
        self.lanes[:] = [self.lane, self.subgroup, np.full(n, size)]
        self.slots = self.outputs[LANE_PLANES * n :][: SLOT_PLANES * n].reshape(SLOT_PLANES, n)
        self.slots[:] = 0
        executed = ACTIVE[program.pattern.name](self.lane)
        group = np.arange(n) // local * 1000 + self.subgroup
        for one in np.unique(group):
            inside = (group == one) & executed
            active = np.zeros((1, size), bool)
            active[0, self.lane[inside]] = True
            self.slots[0, inside] = 1
            self.slots[1:, inside] = pack(active).T
        self.answer()

    def answer(self):
        """Write what the reference requires of every case."""
        instances = self.instances()
        n = self.program.invocations
        for entry in self.program.entries:
            got = np.ones((*instances.member.shape, 2 * ROUNDS), np.uint32)
            expected = expected_of(entry, instances, got)
            right = expected.low if expected.low is expected.high else (expected.low + expected.high) / 2
            flat = np.zeros((n, right.shape[-1]), right.dtype)
            flat[instances.member[instances.active]] = right[instances.active]
            if entry.case.operation in barriers.BARRIERS:
                flat[:, ::2] = 1
                planes = flat.T
            else:
                planes = to_planes(flat.astype(result_type(entry.case).scalar.dtype), result_type(entry.case))
            self.outputs[entry.at : entry.at + entry.planes * n] = planes.ravel()

    def instances(self):
        return read(self.program, self.outputs, ballot=True)

    def result(self, entry):
        """The words of one entry's results, (planes, invocations), to be changed in place."""
        n = self.program.invocations
        return self.outputs[entry.at : entry.at + entry.planes * n].reshape(entry.planes, n)
