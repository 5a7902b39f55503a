"""Execution models: subgroups that are not full, declared reconvergence, and progress of workgroups."""

from __future__ import annotations

import numpy as np
import pytest
from interpreting import interpret, kinds, line, program

from vkgroup.base.errors import InvalidInput
from vkgroup.reference.interpreter import ExecutableShader
from vkgroup.reference.interpreter.execution.models import CHOICES, ExecutionModel
from vkgroup.reference.interpreter.execution.paths import Paths
from vkgroup.reference.interpreter.operations.accessor import LaneSet
from vkgroup.reference.interpreter.values.arrangement import linear, spread

_START = """#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_EXT_subgroup_uniform_control_flow : enable
layout(local_size_x = 64) in;
layout(binding = 0) buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
"""
_ODD = "if ((i & 1u) == 0u) a[i] += 5u;"
_FUNCTION = "uint f(uint i) { if ((i & 1u) == 0u) return 5u; a[i] = 1u; return 3u; }\n"
_SUBGROUP = " [[subgroup_uniform_control_flow]]"


def _shader(body: str, attribute: str = "", functions: str = "") -> str:
    return f"{_START}{functions}void main(){attribute} {{ uint i = gl_GlobalInvocationID.x;\n{body}\n}}\n"


def _run(
    source: str | ExecutableShader, model: ExecutionModel, groups: int = 1, *, size: int = 32
) -> tuple[np.ndarray, ...]:
    a, b = np.arange(64 * groups, dtype=np.uint32), np.zeros(64 * groups, np.uint32)
    outcome = interpret(source, groups, a, b, subgroup_size=size, model=model)
    return a, b, outcome


# --- reconvergence ------------------------------------------------------------------------------------

_GUARANTEED = {
    "a branch at the top": _shader(f"{_ODD}\nb[i] = subgroupAdd(1u);"),
    "both sides of a branch": _shader("if (i < 9u) b[i] = 1u;\nelse b[i] = 2u;\nb[i] += subgroupAdd(1u);"),
    "branches inside of a branch": _shader(f"if (i < 48u) {{\n{_ODD}\n}}\nb[i] = subgroupAdd(1u);"),
    "a loop with different numbers of rounds": _shader(
        "for (uint k = 0u; k < (i & 3u); k++) a[i] += k;\nb[i] = subgroupAdd(1u);"
    ),
    "a loop with a break": _shader(
        "for (uint k = 0u; k < 9u; k++) { if (k > (i & 3u)) break; a[i] += k; }\nb[i] = subgroupAdd(1u);"
    ),
    "a loop in a uniform loop": _shader(
        "uint n = 0u;\nfor (uint k = 0u; k < 3u; k++) {\nfor (uint j = 0u; j < (i & 3u); j++) n++;\n"
        "n += subgroupAdd(1u);\n}\nb[i] = n;"
    ),
    "a switch": _shader(
        "switch (i & 3u) { case 0u: a[i] = 1u; case 1u: a[i] += 2u; break; default: a[i] = 3u; }\n"
        "b[i] = subgroupAdd(1u);"
    ),
    "a function with two returns": _shader("a[i] = f(i);\nb[i] = subgroupAdd(1u);", "", _FUNCTION),
    "a loop over the values of a subgroup": _shader(
        "uint x = i & 3u;\nfor (;;) {\nuint first = subgroupBroadcastFirst(x);\n"
        "if (first == x) { b[i] = subgroupAdd(1u); break; }\n}\nb[i] += 100u * subgroupAdd(1u);"
    ),
    "a branch of a subgroup, declared": _shader(
        f"if (gl_SubgroupID == 0u) {{\n{_ODD}\nb[i] = subgroupAdd(1u);\n}}", _SUBGROUP
    ),
}
_NOT_GUARANTEED = {
    "a branch in a branch": (_shader(f"if (i < 48u) {{\n{_ODD}\nb[i] = subgroupAdd(1u);\n}}"), 3, 4),
    "after an early return": (_shader(f"if (i >= 60u) return;\n{_ODD}\nb[i] = subgroupAdd(1u);"), 3, 4),
    "a branch of a subgroup": (
        _shader(f"if (gl_SubgroupID == 0u) {{\n{_ODD}\nb[i] = subgroupAdd(1u);\n}}"),
        3,
        4,
    ),
    "a branch in a branch, of subgroups": (
        _shader(f"if (i < 48u) {{\n{_ODD}\nb[i] = subgroupAdd(1u);\n}}", _SUBGROUP),
        3,
        4,
    ),
    "a loop with a return": (
        _shader(
            "for (uint k = 0u; k < 9u; k++) {\nif (k == 1u && i < 5u) return;\nif (k > (i & 3u)) break;\n}\n"
            "b[i] = subgroupAdd(1u);"
        ),
        4,
        6,
    ),
    "a branch in a loop that others have left": (
        _shader(
            f"for (uint k = 0u; k < 1u + i % 7u; k++) {{\n{_ODD}\nb[i] = subgroupAdd(1u);\n}}\nb[i] += 1u;"
        ),
        3,
        4,
    ),
    "a function called in a branch": (
        _shader("if (i < 48u) {\na[i] = f(i);\nb[i] = subgroupAdd(1u);\n}", "", _FUNCTION),
        0,
        4,
    ),
}


@pytest.mark.parametrize("apart", CHOICES["apart"])
@pytest.mark.parametrize("name", _GUARANTEED)
def test_invocations_meet_where_the_declarations_guarantee_it(name: str, apart: str) -> None:
    model = ExecutionModel(reconvergence="declared", apart=apart)
    expected, results = _run(_GUARANTEED[name], ExecutionModel()), _run(_GUARANTEED[name], model)
    np.testing.assert_array_equal(results[0], expected[0])
    np.testing.assert_array_equal(results[1], expected[1])
    assert not results[2].partings
    assert not results[2].events


@pytest.mark.parametrize("name", _NOT_GUARANTEED)
def test_invocations_stay_apart_elsewhere(name: str) -> None:
    """Lines count from the one before `main`; line 0 is that of the function."""
    source, branch, operation = _NOT_GUARANTEED[name]
    chosen = program(source)
    outcome = _run(source, ExecutionModel(reconvergence="declared"))[2]
    lines = {
        line(source, position, chosen): line(source, parting.branch, chosen)
        for position, parting in outcome.partings.items()
    }
    start = source[: source.index("void main")].count("\n")
    assert lines == {start + operation: start + branch}


@pytest.mark.parametrize("name", _NOT_GUARANTEED)
def test_maximal_reconvergence_guarantees_it(name: str) -> None:
    source = _NOT_GUARANTEED[name][0]
    chosen = program(source)
    chosen.entry.execution_modes["MaximallyReconvergesKHR"] = ()
    results = [_run(chosen, ExecutionModel(reconvergence=choice)) for choice in CHOICES["reconvergence"]]
    np.testing.assert_array_equal(results[0][1], results[1][1])
    assert not results[1][2].partings


def test_the_end_of_a_function_brings_invocations_together_if_chosen() -> None:
    source = _NOT_GUARANTEED["a function called in a branch"][0]
    results = _run(source, ExecutionModel(reconvergence="declared", apart="return"))
    np.testing.assert_array_equal(results[1], _run(source, ExecutionModel())[1])
    assert not results[2].partings


def test_the_next_iteration_brings_invocations_together_if_chosen() -> None:
    source = _shader(
        "if (i < 48u) {\nfor (uint k = 0u; k < 2u; k++) {\nb[i] += subgroupAdd(1u);\n" + _ODD + "\n}\n}"
    )
    sums = [
        _run(source, ExecutionModel(reconvergence="declared", apart=apart))[1] for apart in CHOICES["apart"]
    ]
    # Subgroups with 32 and 16 active invocations: apart, half of them take part in the second round.
    assert [entry[[0, 40]].tolist() for entry in sums] == [[48, 24], [64, 32], [48, 24]]


def test_each_part_of_a_subgroup_executes_what_follows_a_barrier() -> None:
    source = _shader(f"if (i >= 60u) return;\n{_ODD}\nbarrier();\nb[i] = subgroupAdd(1u);")
    results = _run(source, ExecutionModel(reconvergence="declared"))
    assert kinds(results[2]) == ["barrier"]
    assert results[1][[0, 1, 40, 41]].tolist() == [16, 16, 14, 14]


# --- subgroups that are not full ----------------------------------------------------------------------


@pytest.mark.parametrize("sparse", CHOICES["sparse"])
@pytest.mark.parametrize("size", [1, 2, 4, 32, 128])
def test_subgroups_hold_the_chosen_part_of_their_lanes(sparse: str, size: int) -> None:
    source = _shader("b[i] = subgroupAdd(1u); a[i] = gl_NumSubgroups;")
    a, b, outcome = _run(source, ExecutionModel(sparse=sparse, seed=3), size=size)
    assert not outcome.events
    filled = {"full": size, "half": max(1, size // 2), "quarter": max(1, size // 4)}.get(sparse)
    if filled is not None:
        assert set(b) == {min(filled, 64)}
        assert set(a) == {-(-64 // filled)}
    elif size > 1:
        assert (b < size).all()
        assert set(a) == {a[0]}
        assert a[0] > 64 // size


@pytest.mark.parametrize("sparse", CHOICES["sparse"][1:])
@pytest.mark.parametrize(("size", "is_full"), [(16, True), (32, False)])
def test_subgroups_of_spirv_1_6_are_full_where_they_divide_the_workgroup_in_x(
    sparse: str, size: int, is_full: bool
) -> None:
    """Vulkan 1.4.360, Full Subgroups."""
    source = _shader("b[i] = subgroupAdd(1u);").replace("gl_GlobalInvocationID.x", "gl_LocalInvocationIndex")
    source = source.replace("local_size_x = 64", "local_size_x = 16, local_size_y = 4")
    for target, full in (("1.3", is_full), ("1.2", False)):
        made = program(source, target=target)
        _, b, _ = _run(made, ExecutionModel(sparse=sparse, seed=3), size=size)
        assert (b == size).all() == full


@pytest.mark.parametrize("sparse", CHOICES["sparse"][1:])
def test_quads_stay_together(sparse: str) -> None:
    lanes = spread(linear((64, 1, 1)), 16, sparse, 5, in_quads=True)[0]
    assert (lanes.reshape(-1, 4) % 4 == np.arange(4)).all()
    assert (np.diff(lanes) > 0).all()
    assert lanes[-1] > 64


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("apart", CHOICES["apart"])
@pytest.mark.parametrize("name", [*_GUARANTEED, *_NOT_GUARANTEED])
def test_one_path_of_all_invocations_is_followed_like_paths_of_each(
    name: str, apart: str, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _GUARANTEED[name] if name in _GUARANTEED else _NOT_GUARANTEED[name][0]
    model, chosen = ExecutionModel(reconvergence="declared", apart=apart), program(source)
    a, b, outcome = _run(chosen, model, groups)

    def of_each(paths: Paths, lanes: LaneSet) -> None:
        if paths._one is not None:
            paths._of[:], paths._has_arrived[:], paths._one = paths._one, paths._is_new, None

    monkeypatch.setattr(Paths, "_one_of", of_each)
    slow_a, slow_b, slow = _run(chosen, model, groups)
    np.testing.assert_array_equal((a, b), (slow_a, slow_b))
    assert outcome == slow


_BY_WORKGROUP = {
    "branch": "if (gl_WorkGroupID.x > 1u) a[i] = 1u;",
    "switch": "switch (gl_WorkGroupID.x) { case 0u: a[i] = 1u; case 1u: a[i] += 2u; break; default: break; }",
    "loop": "for (uint k = 0u; k < gl_WorkGroupID.x; k++) a[i]++;",
    "none": "a[i] = i;",
}
_BY_INVOCATION = {
    "branch": _ODD,
    "switch": "switch (i & 3u) { case 0u: a[i] = 1u; case 1u: a[i] += 2u; break; default: break; }",
    "loop": "for (uint k = 0u; k < (i & 3u); k++) a[i]++;",
    "subgroup": "if (gl_SubgroupID == 1u) a[i] = 1u;",
}


@pytest.mark.parametrize("name", _BY_WORKGROUP)
def test_workgroups_that_go_different_ways_have_not_parted(name: str) -> None:
    assert not _run(_shader(_BY_WORKGROUP[name]), ExecutionModel(), 3)[2].parted


@pytest.mark.parametrize("name", _BY_INVOCATION)
def test_invocations_that_go_different_ways_have_parted(name: str) -> None:
    assert _run(_shader(_BY_INVOCATION[name]), ExecutionModel(), 3)[2].parted


# --- progress -----------------------------------------------------------------------------------------

_LEADER = "if (gl_LocalInvocationIndex != 0u) return;\n"
_ORDERS = [ExecutionModel(progress="occupancy", seed=seed) for seed in (0, 1, 7)]
_BY_ID = _shader(
    f"{_LEADER}uint g = gl_WorkGroupID.x;\nif (g > 0u) while (atomicAdd(b[g - 1u], 0u) == 0u);\n"
    "atomicExchange(b[g], g + 1u);"
)
_BY_TICKET = _BY_ID.replace("gl_WorkGroupID.x", "atomicAdd(b[63], 1u)")
_GRID_BARRIER = _shader(
    f"{_LEADER}atomicAdd(b[63], 1u);\nwhile (atomicAdd(b[63], 0u) < gl_NumWorkGroups.x);\n"
)
_FLAG = _shader(
    f"{_LEADER}uint g = gl_WorkGroupID.x;\nbool done = g == 0u;\n"
    "for (uint k = 0u; !done; k++) { if (atomicAdd(b[g - 1u], 0u) != 0u) done = true; }\n"
    "atomicExchange(b[g], g + 1u);"
)
_LAST = _shader(f"{_LEADER}if (atomicAdd(b[63], 1u) == gl_NumWorkGroups.x - 1u) b[5] = 7u;")
_LONG = _shader(
    f"{_LEADER}uint x = 1u;\nfor (uint k = 0u; k < 9000u; k++) x = x * 3u + 1u;\natomicAdd(b[0], x);"
)
_LOCK = _shader(
    f"{_LEADER}bool done = false;\nwhile (!done) {{\nif (atomicCompSwap(b[0], 0u, 1u) == 0u) {{\n"
    "b[1] += 1u; memoryBarrierBuffer(); atomicExchange(b[0], 0u); done = true; } }"
)


def _events(source: str, model: ExecutionModel) -> list[tuple[str, int]]:
    chosen, first = program(source), source[: source.index("void main")].count("\n")
    return [
        (event.kind, line(source, event.position, chosen) - first)
        for event in _run(source, model, 4)[2].events
    ]


@pytest.mark.parametrize("source", [_BY_ID, _FLAG])
def test_a_wait_for_an_earlier_workgroup_needs_their_order(source: str) -> None:
    (ascending, descending, seeded) = (_events(source, model) for model in _ORDERS)
    assert ascending == []
    assert [kind for kind, _ in descending] == ["progress"]
    assert [kind for kind, _ in seeded] == ["progress"]
    assert _events(source, ExecutionModel()) == []


def test_a_subgroup_may_wait_for_one_that_waits_for_a_workgroup() -> None:
    source = _shader(
        "if (gl_LocalInvocationIndex == 0u) part[0] = 0u;\nbarrier();\n"
        "if (gl_SubgroupID == 0u) { if (gl_WorkGroupID.x == 0u) while (atomicAdd(b[1], 0u) == 0u);\n"
        "else atomicExchange(b[1], 1u); atomicExchange(part[0], 1u); }\n"
        "else while (atomicAdd(part[0], 0u) == 0u);",
        functions="shared uint part[64];\n",
    )
    model = ExecutionModel(progress="occupancy")
    assert "progress" in {event.kind for event in _run(source, model, 3)[2].events}
    assert kinds(_run(source, ExecutionModel(), 3)[2]) == []


def test_a_barrier_of_all_workgroups_needs_fair_progress() -> None:
    for model in _ORDERS:
        assert _events(_GRID_BARRIER, model) == [("progress", 4)]
    assert _events(_GRID_BARRIER, ExecutionModel()) == []


def test_a_ticket_needs_progress_of_what_has_started() -> None:
    for model in _ORDERS:
        assert _events(_BY_TICKET, model) == []
    assert _events(_BY_TICKET, ExecutionModel(progress="one")) == [("occupancy", 4)]
    _, b, _ = _run(_BY_TICKET, ExecutionModel(progress="one"), 4)
    assert b[:4].tolist() == [1, 2, 3, 4]


def test_a_lock_needs_progress_of_its_holder() -> None:
    for model in _ORDERS:
        assert _events(_LOCK, model) == []
    assert [kind for kind, _ in _events(_LOCK, ExecutionModel(progress="one"))] == ["occupancy"]


@pytest.mark.parametrize("source", [_LAST, _LONG])
@pytest.mark.parametrize("unit", CHOICES["unit"])
def test_shaders_that_wait_for_nobody_have_no_events(source: str, unit: str) -> None:
    for progress in CHOICES["progress"]:
        assert _events(source, ExecutionModel(progress=progress, unit=unit, seed=1)) == []


def test_subgroups_that_wait_for_each_other_need_progress() -> None:
    source = _shader(
        "if (i == 0u) b[0] = 0u;\nbarrier();\nif (gl_SubgroupID == 1u) atomicExchange(b[0], 1u);\n"
        "else while (atomicAdd(b[0], 0u) == 0u);"
    )
    events = [
        _run(source, ExecutionModel(progress="occupancy", unit="subgroup", seed=seed))[2].events
        for seed in (0, 1)
    ]
    assert sorted(tuple(event.kind for event in found) for found in events) == [(), ("occupancy",)]


@pytest.mark.parametrize("unit", CHOICES["unit"])
@pytest.mark.parametrize("groups", [1, 3])
def test_a_workgroup_that_was_stopped_in_a_loop_goes_on(unit: str, groups: int) -> None:
    source = _shader("if ((gl_SubgroupID & 1u) != 0u) return;\nwhile (b[i]++ <= i);\na[i] = 7u;")
    for progress in CHOICES["progress"]:
        a, _, outcome = _run(source, ExecutionModel(progress=progress, unit=unit), groups)
        assert kinds(outcome) == []
        assert (a.reshape(-1, 2, 32)[:, 0] == 7).all()


_SPIN = "while (atomicAdd(b[0], 0u) == 0u);"
_WAITS = {
    "for a buffer": (_SPIN, {"workgroup", "subgroup"}),
    "for shared memory": ("while (atomicAdd(part[0], 0u) == 0u);", {"subgroup"}),
    "for a buffer with barriers": (
        "for (uint k = 0u; b[0] == 0u; k++) { if (i == 63u) b[0] = 1u; barrier(); }",
        {"workgroup"},
    ),
    "for shared memory with barriers": (
        "for (uint k = 0u; part[0] == 0u; k++) { if (i == 63u) part[0] = 1u; barrier(); }",
        set[str](),
    ),
    "for a buffer, through shared memory": (
        "for (uint k = 0u; part[0] == 0u; k++) { if (i == 0u) part[0] = atomicAdd(b[1], 0u); barrier(); }",
        {"workgroup"},
    ),
    "with a barrier in some rounds": (
        "for (uint k = 0u; part[0] == 0u; k++) { if (i == 63u) part[0] = 1u; if (b[k] == 1u) barrier(); }",
        {"subgroup"},
    ),
    "in a round with a barrier": (
        "for (uint k = 0u; k < 3u; k++) { while (atomicAdd(part[0], 0u) == k); barrier(); }",
        {"subgroup"},
    ),
    "for what nobody writes": ("uint k = 0u;\nwhile (c[k] == 0u) k++;\nb[0] = k;", set[str]()),
    "for another view of what is written": (
        "uint k = 0u;\nwhile (c[k] == 0u) k++;\nd[0] = k;",
        {"workgroup", "subgroup"},
    ),
    "for nothing": ("for (uint k = 0u; k < i; k++) b[k]++;", set[str]()),
}
_NEVER = ("for what nobody writes", "for nothing")
_VIEWS = """shared uint part[64];
layout(binding = 2) readonly buffer C { uint c[]; };
layout(binding = 2) buffer D { uint d[]; };
"""


@pytest.mark.parametrize("name", _WAITS)
def test_loops_wait_through_memory_that_the_others_can_write(name: str) -> None:
    body, units = _WAITS[name]
    chosen = program(_shader(body, functions=_VIEWS))
    assert {unit for unit in CHOICES["unit"] if chosen.waiting_loops(unit)} == units
    assert bool(chosen.waiting_loops()) == (name not in _NEVER)


def test_thousands_of_subgroups_take_turns() -> None:
    model = ExecutionModel(progress="occupancy", unit="subgroup")
    source = _shader(
        "if (i == 2559u) atomicExchange(b[0], 7u);\nif (i == 1300u) while (atomicAdd(b[0], 0u) == 0u);"
    )
    _, b, outcome = _run(source, model, 40, size=1)
    assert kinds(outcome) == ["occupancy"]
    assert b[0] == 7


@pytest.mark.parametrize("name", CHOICES)
def test_an_unknown_choice_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        ExecutionModel(**{name: "some"})
    assert repr(CHOICES[name][0]) in str(refused.value)
