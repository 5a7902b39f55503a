"""The family of shader clocks, in every stage that can record.

OpReadClockKHR (SPV_KHR_shader_clock) gives "the least significant bits of the idealized clock's tick count at
the time the instruction was executed"; that count is "increasing monotonically over time", and "an observer
may see sampled values wrap around zero". So of two successive readings of one clock, the second is
ahead by less than 2^63. All invocations of the scope "read from the same source clock": a reading of one lane
after a barrier is not less than a reading of another lane before it. Two lanes need not read the same
value.

The extension does not forbid compilers to move a reading. So each reading here is in a loop that the
previous reading could have ended, or after a barrier before which the previous reading is stored.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import recording
from vkgroup.conformance.arrays import Words
from vkgroup.conformance.comparison import Verdict, verdict_of
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, TableCase, table
from vkgroup.conformance.recording import LOCAL_SIZE, RECORD, STAGES
from vkgroup.conformance.support import lacking_features
from vkgroup.device import Capabilities
from vkgroup.record.record import Status

Ticks = NDArray[np.uint64]

_LONGEST = 4096
"""Maximum number of rounds that `advances` waits for a tick; each has some dozens of operations."""

_HALF = np.uint64(1 << 63)


@dataclass(frozen=True)
class Clock:
    """A function that reads a clock."""

    name: str  # in GLSL
    wide: bool  # whether it returns one 64-bit integer instead of two words
    device: bool  # whether its scope is the device instead of the subgroup

    @property
    def extension(self) -> str:
        """The GLSL extension that declares it."""
        return "GL_EXT_shader_realtime_clock" if self.device else "GL_ARB_shader_clock"

    @property
    def feature(self) -> str:
        """The Vulkan feature for its scope."""
        return "shaderDeviceClock" if self.device else "shaderSubgroupClock"

    @property
    def other_form(self) -> str:
        """The function that reads the same clock in the other form."""
        base = "clockRealtime" if self.device else "clock"
        end = "EXT" if self.device else "ARB"
        return f"{base}{'2x32' if self.wide else ''}{end}"


CLOCKS: dict[str, Clock] = {
    clock.name: clock
    for clock in (
        Clock("clockARB", True, False),
        Clock("clock2x32ARB", False, False),
        Clock("clockRealtimeEXT", True, True),
        Clock("clockRealtime2x32EXT", False, True),
    )
}
"""All functions by name."""

READINGS = 8
"""Readings of the tests of order."""

_TESTS = {
    "increases": ("never goes back from one reading to the next", READINGS),
    "increases_divergent": (
        "never goes back from one reading to the next, where odd and even lanes part", READINGS
    ),
    "advances": ("does not stand still while an invocation computes", 2),
    "lanes": (
        "read by all lanes between two barriers of the subgroup, shows a time between those around them", 3
    ),
    "workgroup": ("read on both sides of a barrier of the workgroup, shows a later time behind it", 2),
    "forms": ("shows a time between two readings of its other form around it", 3),
}  # fmt: skip
"""Tests of a clock: the sentence, and the readings that are recorded, of two words each."""


class ClockAxes(NamedTuple):
    """The axes: a stage, a key of `CLOCKS` and a key of `_TESTS`."""

    stage: str
    clock: str
    test: str

    @property
    def wide(self) -> bool:
        """Whether the shader has integers of 64 bits."""
        return CLOCKS[self.clock].wide or self.test == "forms"


ClockCase = TableCase[ClockAxes]


def _tests_of(stage: str, clock: str) -> Iterator[str]:
    """Yield the tests of a clock; only the device's is shared by the subgroups of a workgroup."""
    shared = stage == "compute" and CLOCKS[clock].device
    return (test for test in _TESTS if test != "workgroup" or shared)


_CASES = table(
    "shader_clock",
    ClockAxes,
    lambda axes: f"{axes.clock} {_TESTS[axes.test][0]}, in {axes.stage} shaders.",
    stage=STAGES,
    clock=CLOCKS,
    test=_tests_of,
)


def _missing(case: ClockCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a case that the device lacks."""
    needs = recording.missing(case.axes.stage, capabilities)
    features = [CLOCKS[case.axes.clock].feature, *(["shaderInt64"] if case.axes.wide else [])]
    return needs + lacking_features(features, capabilities)


def _batch_key(case: ClockCase) -> Hashable:
    """Return the test, and the test's requirements on the device; cases with equal keys share a shader."""
    axes = case.axes
    return axes.stage, axes.test, axes.wide, CLOCKS[axes.clock].device


def _verdicts(executor: Executor, cases: list[ClockCase]) -> list[Verdict]:
    """Execute cases of one shader and return their verdicts."""
    rows = [case.axes for case in cases]
    stage, sizes = rows[0].stage, [2 * _TESTS[axes.test][1] for axes in rows]
    planes = [len(RECORD) + sum(sizes[:number]) for number in range(len(cases))]
    names = dict.fromkeys(axes.clock for axes in rows)
    if rows[0].test == "forms":
        names |= dict.fromkeys(CLOCKS[name].other_form for name in list(names))
    extensions = {CLOCKS[name].extension for name in names}
    if rows[0].wide:
        extensions.add("GL_EXT_shader_explicit_arithmetic_types_int64")
    declarations = [_reader(name) for name in names]
    declarations.append(
        "void keep(uint plane, uvec2 time) { record(plane, time.x); record(plane + 1u, time.y); }"
    )
    if rows[0].test == "workgroup":
        declarations.append(f"shared uvec2 earlier[{LOCAL_SIZE}];")
    blocks = [f"{{\n{_statements(axes, at)}\n    }}" for axes, at in zip(rows, planes, strict=True)]
    words = recording.observed(
        executor,
        stage,
        sum(sizes),
        f"Reads clocks: {rows[0].test}.",
        "\n    ".join(blocks),
        extensions=sorted(extensions),
        declarations="\n".join(declarations),
    )
    return [_verdict(axes, words, at) for axes, at in zip(rows, planes, strict=True)]


def _reader(name: str) -> str:
    """Return a function that reads a clock as two words, the lower one first."""
    clock = CLOCKS[name]
    read = f"uint64_t time = {name}(); return uvec2(uint(time), uint(time >> 32));"
    return f"uvec2 read_{name}() {{ {read if clock.wide else f'return {name}();'} }}"


def _statements(case: ClockAxes, at: int) -> str:
    read = f"read_{case.clock}()"
    if case.test in ("increases", "increases_divergent"):
        return _readings(read, at, divergent=case.test == "increases_divergent")
    if case.test == "advances":
        return f"""uvec2 first = {read}, last = first;
        uint word = index;
        for (uint round = 0u; round < {_LONGEST}u && last == first; ++round) {{
            for (uint step = 0u; step < 16u; ++step) word = word * 1664525u + 1013904223u;
            last = {read};
            // Never true, but the compiler cannot prove it; keeps the computation.
            if (word == 0u && last.y == 0xFFFFFFFFu) last = uvec2(word);
        }}
        keep({at}u, first); keep({at + 2}u, last);"""
    if case.test == "lanes":
        return f"""keep({at}u, {read});
        subgroupBarrier();
        keep({at + 2}u, {read});
        subgroupBarrier();
        keep({at + 4}u, {read});"""
    if case.test == "workgroup":
        return f"""barrier();
        earlier[gl_LocalInvocationIndex] = {read};
        keep({at}u, earlier[gl_LocalInvocationIndex]);
        barrier();
        uvec2 other = earlier[{LOCAL_SIZE - 1}u - gl_LocalInvocationIndex];
        if (other.x != 0u || other.y != 0xFFFFFFFFu) keep({at + 2}u, {read});
        else keep({at + 2}u, other);"""
    other = f"read_{CLOCKS[case.clock].other_form}()"
    return f"keep({at}u, {other}); keep({at + 2}u, {read}); keep({at + 4}u, {other});"


def _readings(read: str, at: int, *, divergent: bool) -> str:
    loop = f"""for (uint step = 0u; step < {READINGS}u; ++step) {{
            uvec2 time = {read};
            keep({at}u + 2u * step, time);
            // A time that is 2^32 - 1 wraps before the sun is cold; the next reading depends on this one.
            if (time.y == 0xFFFFFFFFu && time.x == step) break;
        }}"""
    if not divergent:
        return loop
    return f"if ((gl_SubgroupInvocationID & 1u) == 1u) {{\n{loop}\n        }} else {{\n{loop}\n        }}"


def _verdict(case: ClockAxes, words: Words, at: int) -> Verdict:
    """Return the verdict on a case from its planes, which begin at `at`: (planes, invocations)."""
    count = words.shape[1]
    if absent := recording.absence(case.stage, words):
        return Verdict(Status.FAIL, 0, 0, absent)
    planes = words[at : at + 2 * _TESTS[case.test][1]].astype(np.uint64)
    times: Ticks = planes[::2] | planes[1::2] << np.uint64(32)
    if case.test == "advances":
        wrong = times[1] == times[0]
        return _compared(case, words, times, wrong | _backwards(times[0], times[1]), "stands still")
    if case.test == "lanes":
        subgroup = words[RECORD.index("subgroup")]
        wrong = _before(times[0], times[1], subgroup) | _before(times[1], times[2], subgroup)
        alike = len(np.unique(np.stack([subgroup.astype(np.uint64), times[1]]), axis=1).T)
        note = f"{alike} different readings in {len(np.unique(subgroup))} subgroups at once"
        return _compared(
            case, words, times, wrong, "is before another lane's reading in front of the barrier", note
        )
    if case.test == "workgroup":
        wrong = _before(times[0], times[1], np.arange(count) // LOCAL_SIZE)
        return _compared(case, words, times, wrong, "is before a reading in front of the barrier")
    wrong = np.zeros(count, np.bool_)
    for earlier, later in pairwise(times):
        wrong |= _backwards(earlier, later)
    return _compared(case, words, times, wrong, "goes back")


def _backwards(earlier: Ticks, later: Ticks) -> NDArray[np.bool_]:
    """Return where a time is before another, wrapping around zero."""
    return np.asarray(later - earlier >= _HALF)


def _before(earlier: Ticks, later: Ticks, group: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Return where a time is before the latest of the earlier ones of its group."""
    wrong = np.zeros(len(later), np.bool_)
    order = np.argsort(group, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(group[order].astype(np.int64))) + 1):
        # Relative to one of them, so that wrapping around zero does not count as going back.
        start = earlier[members[0]]
        latest = (earlier[members] - start).view(np.int64).max()
        wrong[members] = (later[members] - start).view(np.int64) < latest
    return wrong


def _compared(
    case: ClockAxes, words: Words, times: Ticks, wrong: NDArray[np.bool_], fault: str, note: str = ""
) -> Verdict:
    def line(index: int) -> str:
        return f"{case.clock} {fault}: {' '.join(str(time) for time in times[:, index])}"

    description = recording.description(
        words,
        line,
        lambda same: {f"reading {number}": map(str, all_[same]) for number, all_ in enumerate(times, 1)},
        "clock",
    )
    return verdict_of(wrong, description, defined=words.shape[1], note=note)


SHADER_CLOCK = Family("shader_clock", _CASES, _missing, _verdicts, _batch_key)
"""clockARB, clock2x32ARB, clockRealtimeEXT and clockRealtime2x32EXT."""
