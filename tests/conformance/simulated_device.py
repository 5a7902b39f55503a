"""Simulated device that returns the reference's results, or wrong ones on request."""

from __future__ import annotations

import numpy as np

from vkgroup.conformance import barriers
from vkgroup.conformance.arrays import POISON
from vkgroup.conformance.barriers import ROUNDS
from vkgroup.conformance.instances import SLOT_PLANES, pack, read
from vkgroup.conformance.stages.base import group_of_block
from vkgroup.conformance.stages.pixels import WIDTH, quad_of
from vkgroup.conformance.subgroup.expectation import expected_of
from vkgroup.conformance.subgroup.shader import build, result_type
from vkgroup.programs.glsl_types import to_planes
from vkgroup.reference.dtypes import dtype_of

ACTIVE = {"all": lambda lane: lane >= 0, "partial": lambda lane: lane >= 0, "odd": lambda lane: lane % 2 == 1}


class SimulatedDevice:
    """The outputs of one batch on a device that puts invocations into subgroups one after another.

    In a draw it fills subgroups with quads from left to right, and makes helper invocations of the pixels
    that a quad lacks.
    """

    def __init__(self, cases, size=8, seed=3):
        self.program = program = build(list(cases), size=size, seed=seed)
        stage = program.stage
        n = program.invocations
        self.outputs = np.full(program.output_words, POISON, np.uint32)
        record = np.zeros((stage.record_planes, n), np.uint32)
        self.executing = np.isin(np.arange(n), stage.recorded(record).index)
        if stage.name == "compute":
            place = np.arange(n) % stage.group_places
            self.lane, self.subgroup = place % size, place // size
            self.group = np.arange(n) // stage.group_places
        else:
            self.lane, self.subgroup = quads(n, size)
            self.group = group_of_block(quad_of(self.subgroup))
        self.lanes = self.outputs[: 3 * n].reshape(3, n)
        self.lanes[:] = [self.lane, self.subgroup, np.full(n, size)]
        self.slots = self.outputs[program.slots_at :][: SLOT_PLANES * n].reshape(SLOT_PLANES, n)
        self.slots[:] = 0
        executed = ACTIVE[program.pattern.name](self.lane)
        unique = self.group * 100_000 + self.subgroup
        for one in np.unique(unique):
            inside = unique == one
            self.slots[0, inside & executed & self.executing] = 1
            self.slots[1:, inside & executed] = self.ballot(inside & executed)
            if stage.record_planes > 3:
                helpers = self.outputs[3 * n : 7 * n].reshape(4, n)
                helpers[:, inside] = self.ballot(inside & ~self.executing)
        self.lanes[:, ~self.executing] = POISON
        self.answer()

    def ballot(self, invocations):
        """The ballot of invocations of one subgroup, (4, 1) words."""
        active = np.zeros((1, self.program.subgroup_size), bool)
        active[0, self.lane[invocations]] = True
        return pack(active).T

    def answer(self):
        """Write what the reference requires of every case."""
        instances = self.instances()
        n = self.program.invocations
        for entry in self.program.entries:
            got = np.ones((*instances.member.shape, 2 * ROUNDS), np.uint32)
            expected = expected_of(entry, instances, got)
            right = expected.low if expected.low is expected.high else (expected.low + expected.high) / 2
            flat = np.zeros((n, right.shape[-1]), right.dtype)
            flat[instances.member[instances.recorded]] = right[instances.recorded]
            if entry.case.operation in barriers.BARRIERS:
                flat[:, ::2] = 1
                planes = flat.T
            else:
                planes = to_planes(
                    flat.astype(dtype_of(result_type(entry.case).scalar)), result_type(entry.case)
                )
            self.outputs[entry.at : entry.at + entry.planes * n] = planes.ravel()

    def instances(self):
        return read(self.program, self.outputs, ballot=True)

    def result(self, entry):
        """The words of one entry's results, (planes, invocations), to be changed in place."""
        n = self.program.invocations
        return self.outputs[entry.at : entry.at + entry.planes * n].reshape(entry.planes, n)


def quads(n, size):
    """Lane of each pixel, and the pixel of its subgroup's first lane: quads in rows, as many as fit."""
    y, x = np.divmod(np.arange(n), WIDTH)
    quad = y // 2 * (WIDTH // 2) + x // 2
    order = quad * 4 + y % 2 * 2 + x % 2
    first = order // size * size
    pixel = np.empty(n, int)
    pixel[order] = np.arange(n)
    return order % size, pixel[first]
