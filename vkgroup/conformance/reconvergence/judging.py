"""What a program's invocations recorded, against what the simulator says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.instances import hex_of
from vkgroup.conformance.reconvergence import shown
from vkgroup.conformance.reconvergence.glsl import ELECTED, data_of, render, salt_of
from vkgroup.conformance.reconvergence.lanes import Layout, to_flags
from vkgroup.conformance.reconvergence.nodes import Program
from vkgroup.conformance.reconvergence.simulator import Event, Simulator
from vkgroup.conformance.results import Status

Words = NDArray[np.uint32]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]

SHOWN = 4
"""Wrong entries that a failure shows."""

_AROUND = 3
"""Lines of source that a failure shows before and behind a place."""


@dataclass(frozen=True)
class Expected:
    """What each invocation has to record, one entry of the log a row, in the order of each invocation's own.

    Attributes
    ----------
    layout : which invocation is where.
    lengths : (invocations,) entries of each.
    event, invocation, number : (rows,) the execution, who recorded it, and its place in that one's log.
    place : (rows,) the observation's number.
    least, most : (rows, words) lanes that the mask must and may have.
    certain : (rows,) where these are compared.
    """

    layout: Layout
    lengths: Indices
    event: Indices
    invocation: Indices
    number: Indices
    place: Indices
    least: Words
    most: Words
    certain: Flags

    @property
    def longest(self) -> int:
        """Entries of the invocation that has the most."""
        return int(self.lengths.max())


def layout_of(program: Program, heads: Words, size: int) -> Layout | str:
    """Return which invocation is where, as recorded, (heads, invocations); or what is wrong with that."""
    subgroup, lane, sizes = heads[:3].astype(np.int64)
    if (sizes != size).any():
        return f"gl_SubgroupSize is {int(sizes[sizes != size][0])} where the device declares {size}"
    if (lane >= size).any():
        return f"gl_SubgroupInvocationID {int(lane.max())} is not below the subgroup size {size}"
    local = program.local_invocations
    if (subgroup >= local).any():
        return f"gl_SubgroupID is {int(subgroup.max())} in a workgroup of {local} invocations"
    layout = Layout(size, local, subgroup, lane, data_of(program))
    if len(np.unique(layout.position)) != len(lane):
        return "two invocations of a workgroup share gl_SubgroupID and gl_SubgroupInvocationID"
    return layout


def expect(program: Program, layout: Layout) -> Expected:
    """Simulate a program, and lay out what it records."""
    events = Simulator(program, layout).run()
    bits, size = layout.bits, layout.size
    members = to_flags([event.members for event in events], bits)
    active = members[:, layout.position]
    event, invocation = np.nonzero(active)
    number = (np.cumsum(active, axis=0) - 1)[event, invocation]
    certain = to_flags([one.certain for one in events], bits)[:, layout.position][event, invocation]
    field = layout.field[invocation]
    most = _masks(members, size)[event, field]
    least = most.copy()
    for row, one in enumerate(events):
        if one.parts:
            _restrict(least, row, one, event, layout, invocation)
    place = np.array([one.place for one in events], np.int64)[event]
    return Expected(
        layout, active.sum(axis=0), event, invocation, number, place, least, most, certain
    )  # fmt: skip


def _masks(members: Flags, size: int) -> Words:
    """Return the ballots of sets, (sets, bits) → (sets, fields, words)."""
    fields = members.reshape(len(members), members.shape[1] // size, size)
    words = -(-size // 32)
    padded = np.zeros((*fields.shape[:2], 32 * words), np.bool_)
    padded[..., :size] = fields
    return np.packbits(padded, axis=2, bitorder="little").view("<u4")


def _restrict(
    least: Words, row: int, one: Event, event: Indices, layout: Layout, invocation: Indices
) -> None:
    """Let the least masks of one event have only those whom no device may part from an invocation."""
    rows = np.flatnonzero(event == row)
    parts = to_flags(list(one.parts), layout.bits)
    masks = _masks(parts, layout.size)
    own = parts[:, layout.position[invocation[rows]]].argmax(axis=0)
    least[rows] = masks[own, layout.field[invocation[rows]]]


def judge(program: Program, expected: Expected, heads: Words, log: Words) -> Verdict:
    """Judge what was recorded.

    Parameters
    ----------
    heads : (heads, invocations).
    log : (entries, words, invocations).
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
        # Whoever may be parted from a lower lane may be elected beside it; nobody but the lowest of all must.
        lane = expected.layout.lane[expected.invocation]
        right = np.where(elected, _first(expected.least) == lane, _first(expected.most) != lane)
    else:
        mask = got[:, 1:]
        right = ~np.any(mask & ~expected.most | expected.least & ~mask, axis=1)
        right &= _agrees(expected, mask)
    wrong = ~sound | (place != expected.place) | (expected.certain & ~right)
    if wrong.any():
        seen = _Seen(program, expected, got, sound, place, wrong)
        return Verdict(Status.FAIL, defined, undefined, seen.words(), seen.evidence())
    if (entries != expected.lengths).any():
        one = int(np.flatnonzero(entries != expected.lengths)[0])
        who, wanted = _who(expected.layout, one), expected.lengths[one]
        text = f"{who} made {entries[one]} observations instead of {wanted}"
        lanes = shown.counts(expected.layout, entries, expected.lengths, "observations")
        return Verdict(Status.FAIL, defined, undefined, text, lanes)
    if strays.any():
        one = int(np.flatnonzero(strays)[0])
        text = f"{_who(expected.layout, one)} is not in the mask of those who are active with it"
        lanes = shown.counts(expected.layout, strays, np.zeros_like(strays), "masks without itself")
        return Verdict(Status.FAIL, defined, undefined, text, lanes)
    return Verdict(Status.PASS if defined else Status.UNDEFINED, defined, undefined)


def _first(masks: Words) -> Indices:
    """Return the lowest lane of each mask, (rows, words)."""
    bits = np.unpackbits(np.ascontiguousarray(masks).view(np.uint8), axis=1, bitorder="little")
    return np.asarray(bits.argmax(axis=1))


def _agrees(expected: Expected, mask: Words) -> Flags:
    """Whether the lanes that a mask names, of those who were there, got the same mask."""
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


def _who(layout: Layout, invocation: int) -> str:
    group, index = divmod(invocation, layout.local)
    subgroup, lane = layout.subgroup[invocation], layout.lane[invocation]
    return f"invocation {index} of workgroup {group} (subgroup {subgroup}, lane {lane})"


@dataclass(frozen=True)
class _Seen:
    """Entries of which some are wrong, (rows,) as in `Expected`.

    Attributes
    ----------
    got : (rows, words) what was recorded.
    sound : (rows,) whether anything was.
    place : (rows,) the observations' numbers of what was recorded.
    wrong : (rows,) which entries are wrong.
    """

    program: Program
    expected: Expected
    got: Words
    sound: Flags
    place: Indices
    wrong: Flags

    def _rows(self) -> Indices:
        """Return the wrong entries, the earliest first."""
        rows = np.flatnonzero(self.wrong)
        return rows[np.argsort(self.expected.number[rows], kind="stable")]

    def _wanted(self, row: int) -> str:
        """Return what an entry must be, but for its place; empty where that is open."""
        expected = self.expected
        if not expected.certain[row]:
            return ""
        if self.program.elect:
            return f"lane {int(_first(expected.most)[row])} elected"
        least, most = expected.least[row], expected.most[row]
        return hex_of(least) + (f" … {hex_of(most)}" if (least != most).any() else "")

    def _found(self, row: int) -> str:
        """Return what an entry is, but for its place."""
        if self.program.elect:
            return "elected" if self.got[row, 0] & ELECTED else "not elected"
        return hex_of(self.got[row, 1:])

    def words(self) -> str:
        """Say which entries are wrong, and where in the source the first of them is."""
        rows, expected = self._rows(), self.expected
        lines = [f"{len(rows)} of {len(self.wrong)} entries are wrong"]
        for row in rows[:SHOWN].tolist():
            wanted = " with ".join(filter(None, (f"place {expected.place[row]}", self._wanted(row))))
            joint = ", " if self.program.elect else " with "
            found = f"place {self.place[row]}{joint}{self._found(row)}" if self.sound[row] else "nothing"
            who = _who(expected.layout, int(expected.invocation[row]))
            lines.append(f"{who}, entry {expected.number[row]}: expected {wanted}, got {found}")
        at = int(expected.place[rows[0]])
        return "\n".join([*lines, *_source(self.program, at, expected.layout.size)])

    def evidence(self) -> dict[str, Any]:
        """Return who recorded what where the first wrong entry was to be, in its subgroup."""
        expected = self.expected
        first, field = int(self._rows()[0]), expected.layout.field[expected.invocation]
        rows = np.flatnonzero((expected.event == expected.event[first]) & (field == field[first]))
        at = int(expected.place[first])
        same = bool((self.place[rows] == at)[self.sound[rows]].all())
        wanted = [self._wanted(row) or "any" for row in rows.tolist()]
        got = [self._found(row) if self.sound[row] else "nothing" for row in rows.tolist()]
        if not same:
            wanted = [f"place {at}: {text}" for text in wanted]
            got = [f"place {place}: {text}" for place, text in zip(self.place[rows], got, strict=True)]
        masks = self.got[rows, 1:], expected.least[rows], expected.most[rows]
        if self.program.elect:
            masks = (masks[0][:, :0],) * 3
        return shown.ballots(
            expected.layout,
            expected.invocation[rows],
            expected.number[rows],
            self.wrong[rows],
            masks,
            self.sound[rows] & (self.place[rows] == at) & expected.certain[rows],
            (wanted, got),
            f"record({at}u,",
        )


def _source(program: Program, place: int, size: int) -> list[str]:
    """Return the lines around an observation."""
    lines = render(program, size=size, capacity=0, title="").splitlines()
    at = next((n for n, line in enumerate(lines) if f"record({place}u," in line), 0)
    first = max(at - _AROUND, 0)
    shown = lines[first : at + _AROUND + 1]
    return [f"{'>' if first + n == at else ' '} {line}" for n, line in enumerate(shown)]
