"""Comparison of the recorded observations with those of the simulator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vkgroup.conformance import comparison as values
from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import POISON, Flags, Indices, Words
from vkgroup.conformance.comparison import Description, Verdict, verdict_of
from vkgroup.conformance.instances import hex_of, unpack
from vkgroup.conformance.reconvergence.shader import ELECTED, data_of, render, salt_of
from vkgroup.programs.invocation_sets import LaneLayout, to_flags
from vkgroup.programs.nodes import RandomProgram
from vkgroup.programs.simulator import ObservationEvent, Simulator
from vkgroup.record.record import Status

_AROUND = 3
"""Lines of source that the detail shows before and after an observation."""


@dataclass(frozen=True)
class ExpectedLog:
    """Expected log entries, one in each row; the rows of an invocation are in the order of its log."""

    layout: LaneLayout  # subgroup and lane of each invocation
    lengths: Indices  # (invocations,) number of entries of each
    event: Indices  # (rows,) number of the simulator's event
    invocation: Indices  # (rows,) the invocation that records it
    number: Indices  # (rows,) index of the entry in that invocation's log
    place: Indices  # (rows,) number of the observation
    #: `least`, `most`: (rows, words) lanes that the mask must and may contain.
    least: Words
    most: Words
    certain: Flags  # (rows,) whether the mask is compared

    @property
    def longest(self) -> int:
        """Largest number of entries of an invocation."""
        return int(self.lengths.max())


def layout_of(program: RandomProgram, heads: Words, size: int) -> LaneLayout | str:
    """Return the recorded subgroup and lane of each invocation, or the reason why they are wrong."""
    subgroup, lane, sizes = heads[:3].astype(np.int64)
    if (sizes != size).any():
        return f"gl_SubgroupSize is {int(sizes[sizes != size][0])} where the device declares {size}"
    if (lane >= size).any():
        return f"gl_SubgroupInvocationID {int(lane.max())} is not below the subgroup size {size}"
    local = program.local_invocations
    if (subgroup >= local).any():
        return f"gl_SubgroupID is {int(subgroup.max())} in a workgroup of {local} invocations"
    layout = LaneLayout(size, local, subgroup, lane, data_of(program))
    if len(np.unique(layout.position)) != len(lane):
        return "two invocations of a workgroup share gl_SubgroupID and gl_SubgroupInvocationID"
    return layout


def expect(program: RandomProgram, layout: LaneLayout) -> ExpectedLog:
    """Return what the simulator expects a program to record."""
    events = Simulator(program, layout).run()
    bits, size = layout.bits, layout.size
    members = to_flags([event.members for event in events], bits)
    active = members[:, layout.position]
    event, invocation = np.nonzero(active)
    number = (np.cumsum(active, axis=0) - 1)[event, invocation]
    certain = to_flags([execution.certain for execution in events], bits)[:, layout.position]
    field = layout.field[invocation]
    most = _masks(members, size)[event, field]
    least = most.copy()
    for row, execution in enumerate(events):
        if execution.parts:
            _restrict(least, row, execution, event, layout, invocation)
    place = np.array([execution.place for execution in events], np.int64)[event]
    return ExpectedLog(
        layout, active.sum(axis=0), event, invocation, number, place, least, most,
        certain[event, invocation],
    )  # fmt: skip


def _masks(members: Flags, size: int) -> Words:
    """Return the masks of sets in each subgroup, (sets, bits) → (sets, fields, words)."""
    fields = members.reshape(len(members), members.shape[1] // size, size)
    words = -(-size // 32)
    padded = np.zeros((*fields.shape[:2], 32 * words), np.bool_)
    padded[..., :size] = fields
    return np.packbits(padded, axis=2, bitorder="little").view("<u4")


def _restrict(
    least: Words,
    row: int,
    execution: ObservationEvent,
    event: Indices,
    layout: LaneLayout,
    invocation: Indices,
) -> None:
    """Reduce the least masks of one event to the lanes that no device may separate from an invocation."""
    rows = np.flatnonzero(event == row)
    parts = to_flags(list(execution.parts), layout.bits)
    masks = _masks(parts, layout.size)
    own = parts[:, layout.position[invocation[rows]]].argmax(axis=0)
    least[rows] = masks[own, layout.field[invocation[rows]]]


def verdict_on_log(program: RandomProgram, expected: ExpectedLog, heads: Words, log: Words) -> Verdict:
    """Return the verdict on recorded heads, (heads, invocations), and log, (entries, words, invocations).

    The log is `POISON` where nothing was stored.
    """
    entries, glances, strays = heads[3:].astype(np.int64)
    undefined = int((~expected.certain).sum() + glances.sum())
    defined = int(expected.certain.sum())
    got = log[expected.number, :, expected.invocation]
    sound = entries[expected.invocation] > expected.number
    place = (got[:, 0] - np.uint32(salt_of(program))).astype(np.int64)
    if program.elect:
        elected = place & ELECTED != 0
        place &= ~ELECTED
        # The lowest lane of `most` must be elected, the lowest lane of `least` may be.
        lane = expected.layout.lane[expected.invocation]
        right = np.where(elected, _first(expected.least) == lane, _first(expected.most) != lane)
        impossible = ~elected & _always_lowest(expected)
    else:
        mask = got[:, 1:]
        right = ~np.any(mask & ~expected.most | expected.least & ~mask, axis=1)
        right &= _agrees(expected, mask)
        impossible = np.zeros_like(right)
    wrong = ~sound | (place != expected.place) | (expected.certain & ~right) | impossible
    if wrong.any():
        verdict = _Entries(program, expected, got, sound, place, wrong).verdict(defined, undefined)
        alternatives = _alternatives(expected, None if program.elect else got[:, 1:], sound, place, wrong)
        required = values.Expected(expected.place, expected.place, expected.certain)
        return replace(verdict, values=values.JudgedValues(place, required, wrong, alternatives))
    # Inactive invocations must store nothing; the log held poison.
    stores = np.any(log != POISON, axis=1)
    stores[expected.number, expected.invocation] = False
    none = np.zeros_like(strays)
    for numbers, wanted, what, fault in (
        (entries, expected.lengths, "observations", "made {0} observations instead of {1}"),
        (strays, none, "masks without itself", "is missing from its own ballot"),
        (stores.sum(axis=0), none, "stores behind its entries", "stored behind its last entry"),
    ):
        if (numbers != wanted).any():
            first = int(np.flatnonzero(numbers != wanted)[0])
            fault = fault.format(numbers[first], wanted[first])
            detail = f"{_description(expected.layout, first)} {fault}"
            lanes = _counts_evidence(expected.layout, numbers, wanted, what)
            return Verdict(Status.FAIL, defined, undefined, detail, lanes)
    return Verdict(Status.PASS if defined else Status.UNDEFINED, defined, undefined)


def _alternatives(
    expected: ExpectedLog, mask: Words | None, sound: Flags, place: Indices, wrong: Flags
) -> dict[str, tuple[str, Flags]]:
    """Return hypotheses about wrong entries by name: a sentence, and which entries agree with it."""
    same = sound & (place == expected.place)
    if (wrong & ~same).any():
        # Masks of other invocations follow from the path of one.
        return {"another_path": ("an invocation takes another path than required", np.ones_like(wrong))}
    if mask is None:
        return {}
    extra, absent = np.any(mask & ~expected.most, axis=1), np.any(expected.least & ~mask, axis=1)
    return {
        "split": ("invocations that must be converged execute separately", ~wrong | absent & ~extra),
        "merged": ("invocations that must be separate execute together", ~wrong | extra & ~absent),
    }


def _first(masks: Words) -> Indices:
    """Return the lowest lane in each mask, (rows, words)."""
    bits = np.unpackbits(np.ascontiguousarray(masks).view(np.uint8), axis=1, bitorder="little")
    return np.asarray(bits.argmax(axis=1))


def _always_lowest(expected: ExpectedLog) -> Flags:
    """Return which invocations no lower lane of the subgroup joins at an observation, (rows,).

    They are elected, whichever invocations a device executes together.
    """
    layout, invocation = expected.layout, expected.invocation
    if not len(invocation):
        return np.zeros(0, np.bool_)
    key = layout.field[invocation] * (int(expected.place.max()) + 1) + expected.place
    lane = layout.lane[invocation]
    lowest = np.full(int(key.max()) + 1, layout.size, np.int64)
    np.minimum.at(lowest, key, lane)
    return np.asarray(lowest[key] == lane)


def _agrees(expected: ExpectedLog, mask: Words) -> Flags:
    """Return whether all lanes that a mask names recorded the same mask, (rows,)."""
    open_ = np.flatnonzero(np.any(expected.least != expected.most, axis=1) & expected.certain)
    agrees = np.ones(len(mask), np.bool_)
    layout, table = expected.layout, {}
    for row in open_.tolist():
        key = int(expected.event[row]), int(layout.position[expected.invocation[row]])
        table[key] = mask[row].tobytes()
    for row in open_.tolist():
        event, own = int(expected.event[row]), int(layout.field[expected.invocation[row]]) * layout.size
        named = np.flatnonzero(np.unpackbits(mask[row].view(np.uint8), bitorder="little"))
        words = mask[row].tobytes()
        agrees[row] = all(table.get((event, own + lane), words) == words for lane in named.tolist())
    return agrees


def _description(layout: LaneLayout, invocation: int) -> str:
    group, index = divmod(invocation, layout.local)
    subgroup, lane = layout.subgroup[invocation], layout.lane[invocation]
    return f"invocation {index} of workgroup {group} (subgroup {subgroup}, lane {lane})"


@dataclass(frozen=True)
class _Entries:
    """Recorded entries; rows as in `ExpectedLog`."""

    program: RandomProgram
    expected: ExpectedLog
    got: Words  # (rows, words) recorded words
    sound: Flags  # (rows,) whether an entry was recorded
    place: Indices  # (rows,) recorded numbers of observations
    wrong: Flags  # (rows,) whether the entry is wrong; at least one is

    def verdict(self, defined: int, undefined: int) -> Verdict:
        """Return the verdict: the first wrong entries, and the source around the first."""
        order = np.argsort(self.expected.number, kind="stable")
        first = int(order[self.wrong[order]][0])
        description = Description(
            "entries", lambda index: self._line(int(order[index])), lambda _: self._evidence(first)
        )
        verdict = verdict_of(
            self.wrong[order], description, defined=defined, undefined=undefined, total=len(order)
        )
        source = _source(self.program, int(self.expected.place[first]), self.expected.layout.size)
        return replace(verdict, detail="\n".join([verdict.detail, *source]))

    def _wanted(self, row: int) -> str:
        """Return the expected value of an entry without its place; empty if it is not compared."""
        expected = self.expected
        if not expected.certain[row]:
            lane = expected.layout.lane[expected.invocation[row]]
            return f"lane {lane} elected" if self.program.elect and _always_lowest(expected)[row] else ""
        if self.program.elect:
            return f"lane {int(_first(expected.most)[row])} elected"
        least, most = expected.least[row], expected.most[row]
        return hex_of(least) + (f" … {hex_of(most)}" if (least != most).any() else "")

    def _recorded(self, row: int) -> str:
        """Return the recorded value of an entry without its place."""
        if self.program.elect:
            return "elected" if self.got[row, 0] & ELECTED else "not elected"
        return hex_of(self.got[row, 1:])

    def _line(self, row: int) -> str:
        """Return the description of a wrong entry."""
        expected = self.expected
        wanted = " with ".join(filter(None, (f"place {expected.place[row]}", self._wanted(row))))
        recorded = "nothing"
        if self.sound[row]:
            separator = ", " if self.program.elect else " with "
            recorded = f"place {self.place[row]}{separator}{self._recorded(row)}"
        invocation = _description(expected.layout, int(expected.invocation[row]))
        return f"{invocation}, entry {expected.number[row]}: expected {wanted}, got {recorded}"

    def _evidence(self, first: int) -> dict[str, Any]:
        """Return the entries of the first wrong one's subgroup at the same observation."""
        expected, layout = self.expected, self.expected.layout
        field = layout.field[expected.invocation]
        rows = np.flatnonzero((expected.event == expected.event[first]) & (field == field[first]))
        observation = int(expected.place[first])
        wanted = [self._wanted(row) or "any" for row in rows.tolist()]
        got = [self._recorded(row) if self.sound[row] else "nothing" for row in rows.tolist()]
        if (self.place[rows] != observation)[self.sound[rows]].any():
            wanted = [f"place {observation}: {text}" for text in wanted]
            got = [f"place {place}: {text}" for place, text in zip(self.place[rows], got, strict=True)]
        invocation, size = expected.invocation[rows], layout.size
        lane = layout.lane[invocation]
        sound = rows[self.sound[rows] & (self.place[rows] == observation) & expected.certain[rows]]
        masks = []
        if len(sound) and not self.program.elect:
            words = (self.got[sound, 1:], expected.least[sound], expected.most[sound])
            got_masks, least, most = (
                unpack(np.pad(mask, ((0, 0), (0, 4 - mask.shape[1]))), size) for mask in words
            )
            masks = evidence.masks_of(layout.lane[expected.invocation[sound]], got_masks, least, most)
        return evidence.of_lanes(
            _subgroup(layout, int(invocation[0])),
            lane,
            self.wrong[rows],
            {
                "invocation": map(str, (invocation % layout.local).tolist()),
                "entry": map(str, expected.number[rows].tolist()),
                "expected": wanted,
                "got": got,
            },
            size=size,
            active=np.isin(np.arange(size), lane),
            masks=masks,
            code=f"record({observation}u,",
        )


def _counts_evidence(layout: LaneLayout, got: Indices, expected: Indices, what: str) -> dict[str, Any]:
    """Return the evidence of wrong counts, (invocations,)."""
    wrong = got != expected
    members = evidence.together(wrong, layout.field)
    return evidence.of_lanes(
        f"{_subgroup(layout, int(members[0]))}, {what}",
        layout.lane[members],
        wrong[members],
        {
            "invocation": map(str, (members % layout.local).tolist()),
            "expected": map(str, expected[members].tolist()),
            "got": map(str, got[members].tolist()),
        },
        size=layout.size,
    )


def _subgroup(layout: LaneLayout, invocation: int) -> str:
    """Return a description of an invocation's subgroup."""
    return f"workgroup {invocation // layout.local} subgroup {layout.subgroup[invocation]}"


def _source(program: RandomProgram, place: int, size: int) -> list[str]:
    """Return the source lines around an observation."""
    lines = render(program, size=size, capacity=0, title="").splitlines()
    at = next((n for n, line in enumerate(lines) if f"record({place}u," in line), 0)
    first = max(at - _AROUND, 0)
    around = lines[first : at + _AROUND + 1]
    return [f"{'>' if first + n == at else ' '} {line}" for n, line in enumerate(around)]
