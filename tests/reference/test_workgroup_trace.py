"""Recorded steps of a workgroup: they lead from the contents before a dispatch to those after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup.dispatch.reference.device import ReferenceDevice
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.execution import recorder as recording
from vkgroup.reference.interpreter.execution.recorder import StepRecorder, TracedStep
from vkgroup.reference.interpreter.values.value import HARD
from vkgroup.reference.trace import Focus, WorkgroupTrace, trace_workgroup
from vkgroup.spirv import Module

HEAD = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 16) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) buffer Sums { uint sums[]; };
shared uint parts[4];
"""

SUMS = """void main() {
    uint value = values[gl_GlobalInvocationID.x];
    if (value % 3u == 0u) value += 100u;
    uint sum = subgroupAdd(value);
    if (subgroupElect()) parts[gl_SubgroupID] = sum;
    barrier();
    atomicAdd(sums[16], 1u);
    sums[gl_LocalInvocationIndex] = parts[(gl_SubgroupID + 1u) % gl_NumSubgroups];
}
"""

Traced = Callable[..., tuple[WorkgroupTrace, dict[Any, Any]]]


def compiled(body: str) -> Module:
    return vkgroup.compile(HEAD + body, stage="compute", debug=True)


@pytest.fixture
def traced() -> Traced:
    """Return the trace of a dispatch on subgroups of 4, and its results."""

    def trace(body: str, groups: int = 1, focus: Focus = Focus()) -> tuple[WorkgroupTrace, dict[Any, Any]]:  # noqa: B008
        module, results = compiled(body), {}
        with vkgroup.open("reference:4") as device:
            assert isinstance(device, ReferenceDevice)

            def execute(recorder: StepRecorder) -> tuple[Event, ...]:
                device.observe(recorder)
                values = np.arange(1, 16 * groups + 1, dtype=np.uint32)
                result = device.run(module, groups, {"Values": values, "Sums": np.zeros(17, np.uint32)})
                results.update(result)
                return result.events

            return trace_workgroup(execute, focus), results

    return trace


def named(trace: WorkgroupTrace, name: str) -> list[TracedStep]:
    """Return the steps of instructions with a name."""
    assert trace.recorder.machine is not None
    entries = {entry.position: entry for entry in trace.recorder.machine.program.module.instructions}
    return [step for step in trace.recorder.steps if entries[step.position].name == name]


def test_accesses_lead_from_the_contents_before_to_those_after(traced: Traced) -> None:
    trace, results = traced(SUMS)
    contents: list[dict[int, bytes]] = [{} for _ in trace.recorder.memories]
    for step in trace.recorder.steps:
        for access in step.accesses:
            held = contents[access.memory]
            offsets = access.offset.tolist()
            befores, afters = ([row.tobytes() for row in rows] for rows in (access.before, access.after))
            assert befores == [held.get(*pair) for pair in zip(offsets, befores, strict=True)]
            held.update(zip(offsets, afters, strict=True))
    names = [memory.name for memory in trace.recorder.memories]
    assert set(names) == {"Values", "parts", "Sums"}
    sums = contents[names.index("Sums")]
    assert b"".join(sums[offset] for offset in sorted(sums)) == results["Sums"].tobytes()


def test_values_are_those_of_each_lane(traced: Traced) -> None:
    trace, _ = traced(SUMS)
    (added,) = named(trace, "OpGroupNonUniformIAdd")
    values = np.arange(1, 17, dtype=np.uint32)
    values = np.where(values % 3 == 0, values + 100, values)
    assert added.lanes.tolist() == list(range(16))
    np.testing.assert_array_equal(added.value.data[0][0], np.repeat(values.reshape(4, 4).sum(1), 4))
    elected = next(step for step in named(trace, "OpStore") if len(step.lanes) == 4)
    assert trace.recorder.lane[elected.lanes].tolist() == [0] * 4
    branch = next(step for step in trace.recorder.steps if step.ending == "branch")
    np.testing.assert_array_equal(branch.value.data[0][0], np.arange(1, 17) % 3 == 0)
    assert [step.number for step in trace.recorder.steps] == list(range(trace.total))


def test_writes_of_another_workgroup_are_kept_where_this_one_reads(traced: Traced) -> None:
    trace, _ = traced(SUMS, groups=2, focus=Focus(workgroup=(1, 0, 0)))
    (read,) = [step for step in named(trace, "OpLoad") if step.accesses and step.accesses[0].memory == 0]
    assert read.accesses[0].offset.tolist() == [4 * number for number in range(16, 32)]
    number = [memory.name for memory in trace.recorder.memories].index("Sums")
    writers = {
        who < 0
        for step in trace.recorder.steps
        for access in step.accesses
        if access.memory == number and access.kind == "write"
        for who in access.who.tolist()
    }
    assert writers == {False, True}
    # Shared memory of the other workgroup is another memory.
    shared = [memory.kind for memory in trace.recorder.memories].index("workgroup")
    places = {
        offset
        for step in trace.recorder.steps
        for access in step.accesses
        if access.memory == shared
        for offset in access.offset.tolist()
    }
    assert places == {0, 4, 8, 12}


RACE = """void main() {
    uint sum = 0u;
    for (uint i = 0u; i < 40u; ++i) sum += i;
    parts[gl_SubgroupID] = sum;
    for (uint i = 0u; i < 40u; ++i) sum += i;
    sums[gl_LocalInvocationIndex] = parts[(gl_SubgroupID + 1u) % gl_NumSubgroups];
    for (uint i = 0u; i < 40u; ++i) sum += i;
}
"""


def race_of(body: str) -> Event:
    """Return the first race of a shader."""
    with vkgroup.open("reference:4") as device:
        assert isinstance(device, ReferenceDevice)
        device.observe(StepRecorder())
        events = device.run(
            compiled(body), 1, {"Values": np.ones(16, np.uint32), "Sums": np.zeros(17, np.uint32)}
        ).events
    return next(event for event in events if event.kind == "race")


@pytest.mark.parametrize("most", [60, recording.MOST_STEPS])
def test_the_step_to_look_at_is_the_second_access_of_the_race(
    traced: Traced, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    event = race_of(RACE)
    assert event.invocation is not None
    monkeypatch.setattr(recording, "MOST_STEPS", most)
    focus = Focus(
        event.invocation.workgroup, event.invocation.local, "race", event.origin, (event.other_position,)
    )
    trace, _ = traced(RACE, focus=focus)
    numbers = [step.number for step in trace.recorder.steps]
    assert len(numbers) == min(most, trace.total)
    (step,) = [step for step in trace.recorder.steps if step.number == trace.step]
    assert step.position == event.position
    assert trace.event is not None
    assert trace.event.other_position == event.other_position


def test_an_error_at_the_end_leads_to_its_store(traced: Traced) -> None:
    body = "void main() { uint x; sums[gl_LocalInvocationIndex] = x; }"
    module = compiled(body)
    store = [entry for entry in module.instructions if entry.name == "OpStore"][-1]
    undefined = next(
        event
        for event in traced(body)[0].recorder.machine.events.events()  # type: ignore[union-attr]
        if event.kind == "undefined"
    )
    trace, _ = traced(body, focus=Focus(kind="undefined", position=undefined.origin))
    (step,) = [step for step in trace.recorder.steps if step.number == trace.step]
    assert step.position == store.position
    assert step.value.causes[0] is not None
    assert (step.value.causes[0] >= HARD).all()


def test_of_a_large_workgroup_the_subgroups_around_the_invocation_are_recorded(
    traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MOST_LANES", 8)
    trace, _ = traced(SUMS, focus=Focus(local=(13, 0, 0)))
    assert trace.recorder.local_index.tolist() == list(range(8, 16))
    assert trace.recorder.subgroup.tolist() == [2] * 4 + [3] * 4
    assert all(step.lanes.max(initial=0) < 8 for step in trace.recorder.steps)


def test_a_uniform_value_may_be_undefined_in_some_lanes(traced: Traced) -> None:
    body = """void main() {
    uint x;
    if (gl_LocalInvocationIndex > 4u) x = 7u;
    if (x == 7u) atomicAdd(sums[16], 1u);
    uint y = 3u;
    sums[gl_LocalInvocationIndex] = y;
}
"""
    trace, _ = traced(body)
    last = named(trace, "OpStore")[-1]
    assert last.value.causes[0] is not None
    assert last.value.data[0].shape == last.value.causes[0].shape == (1, 16)
    np.testing.assert_array_equal(last.value.causes[0][0] >= HARD, np.arange(16) <= 4)
    assert last.value.undefined(16).tolist() == [lane <= 4 for lane in range(16)]
