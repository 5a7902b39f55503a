"""What a program's invocations recorded, against what the simulator says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.reconvergence.glsl import ELECTED, data_of, render, salt_of
from vkgroup.conformance.reconvergence.lanes import Layout, to_flags
from vkgroup.conformance.reconvergence.nodes import Program
from vkgroup.conformance.reconvergence.simulator import Event, Simulator
from vkgroup.conformance.results import Status
from vkgroup.conformance.verdict import Verdict

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
    fields = members.reshape(len(members), -1, size)
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
        return Verdict(
            Status.FAIL, defined, undefined, _describe(program, expected, got, sound, place, wrong)
        )
    if (entries != expected.lengths).any():
        one = int(np.flatnonzero(entries != expected.lengths)[0])
        who, wanted = _who(expected.layout, one), expected.lengths[one]
        text = f"{who} made {entries[one]} observations instead of {wanted}"
        return Verdict(Status.FAIL, defined, undefined, text)
    if strays.any():
        one = int(np.flatnonzero(strays)[0])
        text = f"{_who(expected.layout, one)} is not in the mask of those who are active with it"
        return Verdict(Status.FAIL, defined, undefined, text)
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


def _describe(
    program: Program, expected: Expected, got: Words, sound: Flags, place: Indices, wrong: Flags
) -> str:
    """Say which entries are wrong, the earliest first, and where in the source the first of them is."""
    rows = np.flatnonzero(wrong)
    rows = rows[np.argsort(expected.number[rows], kind="stable")]
    lines = [f"{len(rows)} of {len(wrong)} entries are wrong"]
    for row in rows[:SHOWN].tolist():
        wanted = f"place {expected.place[row]}"
        if not program.elect:
            wanted += f" with {_hex(expected.least[row])}"
            if (expected.least[row] != expected.most[row]).any():
                wanted += f" … {_hex(expected.most[row])}"
        else:
            first = int(_first(expected.most)[row])
            wanted += f" with lane {first} elected"
        if not sound[row]:
            found = "nothing"
        elif program.elect:
            found = f"place {place[row]}, {'' if got[row, 0] & ELECTED else 'not '}elected"
        else:
            found = f"place {place[row]} with {_hex(got[row, 1:])}"
        if not expected.certain[row]:
            wanted = f"place {expected.place[row]}"
        who = _who(expected.layout, int(expected.invocation[row]))
        lines.append(f"{who}, entry {expected.number[row]}: expected {wanted}, got {found}")
    return "\n".join([*lines, *_source(program, int(expected.place[rows[0]]), expected.layout.size)])


def _source(program: Program, place: int, size: int) -> list[str]:
    """Return the lines around an observation."""
    lines = render(program, size=size, capacity=0, title="").splitlines()
    at = next((n for n, line in enumerate(lines) if f"record({place}u," in line), 0)
    first = max(at - _AROUND, 0)
    shown = lines[first : at + _AROUND + 1]
    return [f"{'>' if first + n == at else ' '} {line}" for n, line in enumerate(shown)]


def _hex(words: Words) -> str:
    return "0x" + "".join(f"{word:08x}" for word in words[::-1]).lstrip("0").rjust(1, "0")
