"""Executions that Vulkan permits: sparse subgroups, declared reconvergence, progress of workgroups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Written = Callable[..., Path]
Checked = Callable[..., dict[str, Any]]

_START = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_EXT_subgroup_uniform_control_flow : enable
layout(local_size_x = 128) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) coherent buffer B { uint b[]; };
shared uint part[128];
"""
_LINE = _START.count("\n") + 2
"""The line at which the body of a shader begins."""


def _shader(body: str, declared: str = "", attribute: str = "") -> str:
    """Return a shader with a body, which begins at `_LINE`."""
    return (
        f"{_START}{declared}void main(){attribute} {{ uint i = gl_LocalInvocationIndex,"
        f" g = gl_GlobalInvocationID.x, l = gl_SubgroupInvocationID, w = gl_WorkGroupID.x; uint x = a[g];\n"
        f"{body}\n}}\n"
    )


def _kinds(report: dict[str, Any]) -> list[str]:
    return [finding["kind"] for finding in report["findings"]]


# --- subgroups that are not full ----------------------------------------------------------------------

_BUTTERFLY = (
    "for (uint s = gl_SubgroupSize / 2u; s > 0u; s >>= 1) x += subgroupShuffleXor(x, s);\n"
    "if (subgroupElect()) atomicAdd(b[0], x);"
)
_NEEDS_FULL = {
    "a butterfly over all lanes": _BUTTERFLY,
    "a position from subgroup and lane": "uint k = gl_SubgroupID * gl_SubgroupSize + l;\n"
    "b[w * 128u + k] = a[w * 128u + k] * 3u;",
    "a broadcast of the last lane": "uint sum = subgroupInclusiveAdd(x);\n"
    "sum = subgroupBroadcast(sum, gl_SubgroupSize - 1u); if (subgroupElect()) atomicAdd(b[0], sum);",
    "a sum by shifts": "for (uint s = 1u; s < gl_SubgroupSize; s *= 2u) {\n"
    "uint other = subgroupShuffleDown(x, s); if (l + s < gl_SubgroupSize) x += other; }\n"
    "if (subgroupElect()) atomicAdd(b[0], x);",
    "a broadcast of lane 0": "uint first = subgroupBroadcast(w, 0u);\nb[g] = first;",
    "a barrier of the subgroup for the workgroup": "part[i] = x;\nif (gl_SubgroupSize >= 64u) {"
    " subgroupMemoryBarrierShared(); subgroupBarrier(); } else barrier();\n"
    "b[g] = part[i ^ 63u] + subgroupMax(0u);",
    "a leader in lane 0": "uint sum = subgroupAdd(x);\nif (l == 0u) atomicAdd(b[0], sum);",
    "the sum of a full ballot": "uint n = subgroupBallotBitCount(subgroupBallot(true));\n"
    "bool full = n == gl_SubgroupSize;\n"
    "b[g] = full ? x : 0u;",
    "a number of subgroups from the size": "uint sum = subgroupAdd(x), n = 128u / gl_SubgroupSize;\n"
    "if (subgroupElect()) part[gl_SubgroupID] = sum;\nbarrier();\n"
    "if (i == 0u) { uint all = 0u; for (uint k = 0u; k < n; k++) all += part[k]; b[w] = all; }",
    "a rotation of full subgroups": "uint next ="
    " subgroupShuffle(w, (l + 1u) % gl_SubgroupSize);\nb[g] = next;",
}
_INDEPENDENT = {
    "a sum": "uint sum = subgroupAdd(x);\nif (subgroupElect()) atomicAdd(b[0], sum);",
    "partial sums by subgroup": "uint sum = subgroupAdd(x);\n"
    "if (subgroupElect()) part[gl_SubgroupID] = sum;\n"
    "barrier();\nif (i == 0u) { uint all = 0u;\n"
    "for (uint k = 0u; k < gl_NumSubgroups; k++) all += part[k]; b[w] = all; }",
    "a count of a ballot": "uint n = subgroupBallotBitCount(subgroupBallot((x & 1u) == 0u));\n"
    "if (subgroupElect()) atomicAdd(b[0], n);",
    "a broadcast of the first lane": "uint first = subgroupBroadcastFirst(w);\nb[g] = first;",
    "an append": "bool p = (x & 3u) == 0u; uvec4 m = subgroupBallot(p); uint base = 0u;\n"
    "if (subgroupElect()) base = atomicAdd(b[0], subgroupBallotBitCount(m));\n"
    "base = subgroupBroadcastFirst(base);\n"
    "if (p) b[1u + base + subgroupBallotExclusiveBitCount(m)] = x;",
    "an exchange with a lane that exists": "uvec4 m = subgroupBallot(true);\n"
    "b[g] = subgroupBallotBitExtract(m, l ^ 1u) ? min(w, subgroupShuffleXor(w, 1u)) : w;",
    "positions of the workgroup": "part[127u - i] = x;\nbarrier();\nb[g] = part[i];",
    "a broadcast of the last active lane": "uint sum = subgroupInclusiveAdd(x);\n"
    "uint last = subgroupBallotFindMSB(subgroupBallot(true));\n"
    "uint all = subgroupShuffle(sum, last); if (subgroupElect()) atomicAdd(b[0], all);",
    "a vote": "bool any = subgroupAny(x > 0u);\nif (!any) b[g] = 1u;",
}


@pytest.mark.parametrize("name", _NEEDS_FULL)
def test_what_is_wrong_without_full_subgroups_is_found(name: str, checked: Checked, written: Written) -> None:
    report = checked(written(_shader(_NEEDS_FULL[name])), "--subgroup-size", "32,64", "--lanes", "linear")
    assert _kinds(report) == ["sparse"]
    assert report["code"] == 1
    (finding,) = report["findings"]
    assert finding["place"]["line"] >= _LINE
    assert any(where["model"][0].startswith("sparse=") for where in finding["configurations"])
    assert "--full-subgroups" in finding["help"]


@pytest.mark.parametrize("name", _NEEDS_FULL)
def test_hosts_that_require_full_subgroups_have_no_such_finding(
    name: str, checked: Checked, written: Written
) -> None:
    file = written(_shader(_NEEDS_FULL[name]))
    report = checked(file, "--subgroup-size", "32,64", "--lanes", "linear", "--full-subgroups")
    assert (_kinds(report), report["code"]) == ([], 0)


def test_modules_of_spirv_1_6_have_full_subgroups(checked: Checked, written: Written) -> None:
    """A size that does not divide the local size in x still leaves lanes without an invocation."""
    file = written(_shader(_BUTTERFLY))
    report = checked(file, "--subgroup-size", "32,64", "--target", "1.3")
    assert _kinds(report) == []


@pytest.mark.parametrize("name", _INDEPENDENT)
def test_shaders_that_do_not_need_full_subgroups_are_clean(
    name: str, checked: Checked, written: Written
) -> None:
    report = checked(written(_shader(_INDEPENDENT[name])), "--subgroup-size", "8,32,128")
    assert (_kinds(report), report["questions"], report["code"]) == ([], [], 0)


def test_quads_stay_whole(checked: Checked, written: Written) -> None:
    file = written(_shader("uint other = subgroupQuadSwapHorizontal(w);\nb[g] = other;"))
    assert _kinds(checked(file, "--subgroup-size", "4,32,64")) == []


# --- reconvergence ------------------------------------------------------------------------------------

_ODD = "if ((x & 1u) == 0u) b[g] += 5u;\n"
_COUNT = "b[g] += 100u * subgroupAdd(1u);"
_MAY_STAY_APART = {
    "in a branch": f"if (i < 100u) {{ {_ODD}{_COUNT} }}",
    "after an early return": f"if (g >= 500u) return;\n{_ODD}{_COUNT}",
    "in a branch of a subgroup": f"if (gl_SubgroupID == 0u) {{ {_ODD}{_COUNT} }}",
    "in a switch": f"switch (i & 64u) {{ case 0u: {_ODD}{_COUNT} break; default: b[g] = 1u; }}",
    "in an else": f"if (i < 20u) b[g] = 1u; else {{ {_ODD}{_COUNT} }}",
    "after a loop in a branch": "if (i < 100u) { for (uint k = 0u; k < (x & 3u); k++) b[g] += k;\n"
    f"{_COUNT} }}",
    "in a loop that others have left": f"for (uint k = 0u; k < 1u + i % 7u; k++) {{ {_ODD}{_COUNT} }}",
    "after a loop with a return": "for (uint k = 0u; k < 9u; k++) { if (k == 1u && i < 5u) return;"
    f" if (k > (x & 3u)) break; }}\n{_COUNT}",
}
_MAY_STAY_APART |= {
    "after nested breaks": "if (i < 100u) { do { if ((x & 1u) == 0u) break; b[g] += 5u;"
    f" if ((x & 2u) == 0u) break; b[g] += 1u; }} while (false);\n{_COUNT} }}",
    "after a continue": f"for (uint k = 0u; k < 3u; k++) {{ {_COUNT}\n"
    " if ((x & 1u) == 0u) continue; b[g] += 1u; }",
}
_MEET = {
    "before a continue": "for (uint k = 0u; k < 3u; k++) { if ((x & 1u) == 0u) { b[g] += 1u; continue; }\n"
    f"{_COUNT} }}",
    "after a switch": "switch (x & 3u) { case 0u: b[g] += 1u; break; case 1u: b[g] += 2u; break;"
    f" default: b[g] += 3u; }}\n{_COUNT}",
    "at the top": f"{_ODD}{_COUNT}",
    "after nested branches": f"if (i < 100u) {{ {_ODD} }} {_COUNT}",
    "after a loop": f"for (uint k = 0u; k < (x & 3u); k++) b[g] += k;\n{_COUNT}",
    "in a loop with the same rounds": f"for (uint k = 0u; k < 3u; k++) {{ {_ODD}{_COUNT} }}",
    "in a branch of whole workgroups": f"if ((w & 1u) == 0u) {{ {_ODD}{_COUNT} }}",
    "in a branch without another one": f"if (i < 100u) {{ {_COUNT} }}",
    "over the values of a subgroup": "for (;;) { uint v = subgroupBroadcastFirst(x & 3u);"
    " if (v == (x & 3u)) { b[g] = subgroupAdd(1u); break; } }",
    "whatever the set is": f"if (i < 100u) {{ {_ODD} b[g] += subgroupMax(7u); }}",
}


@pytest.mark.parametrize("name", _MAY_STAY_APART)
def test_reconvergence_that_is_not_declared_is_found(name: str, checked: Checked, written: Written) -> None:
    file = written(_shader(_MAY_STAY_APART[name]))
    report = checked(file, "--subgroup-size", "32", "--lanes", "linear", "--full-subgroups")
    assert (_kinds(report), report["code"]) == (["reconvergence"], 0)
    (finding,) = report["findings"]
    assert finding["weak"]
    assert "subgroupAdd" in finding["place"]["text"]
    assert "part" in finding["notes"][0]["message"]
    options = ("--subgroup-size", "32", "--lanes", "linear", "--full-subgroups")
    assert checked(file, *options, "--strict")["code"] == 1
    assert _kinds(checked(file, *options, "--reconvergence", "maximal")) == []


@pytest.mark.parametrize("name", _MEET)
def test_reconvergence_that_is_guaranteed_is_clean(name: str, checked: Checked, written: Written) -> None:
    file = written(_shader(_MEET[name]))
    report = checked(file, "--subgroup-size", "32", "--lanes", "linear", "--full-subgroups")
    assert (_kinds(report), report["code"]) == ([], 0)


def test_uniform_control_flow_of_subgroups_can_be_declared(checked: Checked, written: Written) -> None:
    body, attribute = _MAY_STAY_APART["in a branch of a subgroup"], " [[subgroup_uniform_control_flow]]"
    file = written(_shader(body, attribute=attribute))
    report = checked(file, "--subgroup-size", "32", "--lanes", "linear", "--full-subgroups")
    assert _kinds(report) == []


_FRAGMENT = """#version 460
#extension GL_KHR_shader_subgroup_quad : require
layout(location = 0) in vec2 place;
layout(location = 0) out vec4 color;
void main() {{
    bool right = (int(gl_FragCoord.x) & 2) != 0, low = place.y > 0.4;
    float x = 0.0;
    {body}
    color = vec4(x);
}}
"""
_PART = "if (place.x > 0.3) x = 1.0; else x = 0.25;"
_SWAP = "x += subgroupQuadSwapHorizontal(x);"


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        (f"if (right) {{ {_PART}\n{_SWAP} }}", ["reconvergence"]),
        (f"if (right) discard;\n{_PART} {_SWAP}", ["reconvergence"]),
        (f"{_PART}\n{_SWAP}", []),
        (f"if (right) {_PART}\n{_SWAP}", []),
    ],
)
def test_fragments_meet_where_the_whole_draw_does(
    body: str, kinds: list[str], checked: Checked, written: Written
) -> None:
    file = written(_FRAGMENT.format(body=body), "shader.frag")
    report = checked(file, "--lanes", "linear")
    assert (_kinds(report), report["code"]) == (kinds, 0)
    if kinds:
        assert "whole draw" in report["text"]
        assert _kinds(checked(file, "--lanes", "linear", "--reconvergence", "maximal")) == []


# --- progress -----------------------------------------------------------------------------------------

_CHAIN = (
    "if (i != 0u) return;\nif (w > 0u) while (atomicAdd(b[w - 1u], 0u) == 0u);\natomicExchange(b[w], w + 1u);"
)
_NEEDS_A_START = {
    "a chain in the order of workgroups": _CHAIN,
    "a chain in descending order": "if (i != 0u) return;\nuint n = gl_NumWorkGroups.x - 1u;\n"
    "if (w < n) while (atomicAdd(b[w + 1u], 0u) == 0u);\natomicExchange(b[w], w + 1u);",
    "a barrier of all workgroups": "if (i != 0u) return;\natomicAdd(b[9], 1u);\n"
    "while (atomicAdd(b[9], 0u) < gl_NumWorkGroups.x);",
    "a producer and consumers": "if (i != 0u) return;\nif (w == 0u) atomicExchange(b[9], 7u);\n"
    "else while (atomicOr(b[9], 0u) != 7u);",
    "a flag in a variable": "if (i != 0u) return;\nbool done = w == 0u;\n"
    "for (uint k = 0u; !done; k++) if (atomicAdd(b[w - 1u], 0u) != 0u) done = true;\n"
    "atomicExchange(b[w], 1u);",
    "turns": "if (i != 0u) return;\nwhile (atomicAdd(b[9], 0u) != w);\natomicAdd(b[9], 1u);",
}
_NEEDS_A_START |= {
    "a chain over two": "if (i != 0u) return;\nif (w > 1u) while (atomicAdd(b[w - 2u], 0u) == 0u);\n"
    "atomicExchange(b[w], 1u);",
    "a flag of the last workgroup": "if (i != 0u) return;\nif (w + 1u == gl_NumWorkGroups.x)"
    " atomicExchange(b[9], 1u);\nelse while (atomicOr(b[9], 0u) == 0u);",
    "pairs": "if (i != 0u) return;\natomicExchange(b[w], 1u);\nwhile (atomicOr(b[w ^ 1u], 0u) == 0u);",
    "a chain with barriers in each round": "bool done = w == 0u;\n"
    "for (uint k = 0u; !done; k++) { if (i == 0u) part[0] = atomicAdd(b[w - 1u], 0u);\n"
    "barrier(); done = part[0] != 0u; barrier(); }\nif (i == 0u) atomicExchange(b[w], 1u);",
    "a chain of whole workgroups": "if (w > 0u) { if (i == 0u)\nwhile (atomicAdd(b[w - 1u], 0u) == 0u);\n"
    "barrier(); }\nif (i == 0u) atomicExchange(b[w], 1u);",
}
_SWAPPING = (
    "if (i != 0u) return;\nuint old = atomicAdd(b[9], 0u), seen;\n"
    "do {{ seen = old; old = atomicCompSwap(b[9], seen, {new}); }} while (old != seen);"
)
_NEEDS_NO_START = {
    "a ticket of a whole workgroup": (
        "if (i == 0u) part[0] = atomicAdd(b[63], 1u);\nbarrier();\nuint t = part[0];\n"
        "if (i == 0u) { if (t > 0u) while (atomicAdd(b[t - 1u], 0u) == 0u);\natomicExchange(b[t], t + 1u); }",
        1,
    ),
    "a wait with a limit": (
        "if (i != 0u) return;\nuint k = 0u;\nwhile (atomicAdd(b[9], 0u) == 0u && k < 50u) k++;",
        0,
    ),
    "compare and swap": (_SWAPPING.format(new="seen + 1u"), 0),
    "a maximum by compare and swap": (_SWAPPING.format(new="max(seen, w)"), 0),
    "a ticket": (
        _CHAIN.replace("\nif", "\nuint t = atomicAdd(b[63], 1u);\nif", 1)
        .replace("(w", "(t")
        .replace("[w", "[t")
        .replace(", w", ", t"),
        1,
    ),
    "a lock": (
        "if (i != 0u) return;\nbool done = false;\nwhile (!done) { if (atomicCompSwap(b[0], 0u, 1u) == 0u) {"
        " atomicAdd(b[1], 1u); memoryBarrierBuffer(); atomicExchange(b[0], 0u); done = true; } }",
        1,
    ),
    "the last workgroup": (
        "if (i != 0u) return;\nif (atomicAdd(b[0], 1u) == gl_NumWorkGroups.x - 1u) b[5] = 7u;",
        0,
    ),
    "a long loop": ("uint y = x;\nfor (uint k = 0u; k < 5000u; k++) y = y * 3u + 1u;\nb[g] = y;", 0),
    "a search": ("uint k = 0u;\nwhile (a[k] != 77777u && k < 300u) k++;\nb[g] = k;", 0),
}


@pytest.mark.parametrize("name", _NEEDS_A_START)
def test_a_wait_for_a_workgroup_that_has_not_started_is_found(
    name: str, checked: Checked, written: Written
) -> None:
    file = written(_shader(_NEEDS_A_START[name]))
    report = checked(file, "--subgroup-size", "32")
    assert (_kinds(report), report["code"]) == (["progress"], 1)
    (finding,) = report["findings"]
    assert "while" in finding["place"]["text"] or "for" in finding["place"]["text"]
    assert _kinds(checked(file, "--subgroup-size", "32", "--progress", "fair")) == []


@pytest.mark.parametrize("name", _NEEDS_NO_START)
def test_a_wait_for_what_has_started_is_noted(name: str, checked: Checked, written: Written) -> None:
    body, notes = _NEEDS_NO_START[name]
    file = written(_shader(body))
    report = checked(file, "--subgroup-size", "32")
    assert (_kinds(report), report["code"]) == ([], 0)
    assert sum("make progress" in note for note in report["covered"]["notes"]) == notes
    report = checked(file, "--subgroup-size", "32", "--progress", "one")
    assert _kinds(report) == ["progress"] * notes


def test_a_wait_for_another_subgroup_is_noted(checked: Checked, written: Written) -> None:
    source = _shader(
        "if (i == 0u) part[0] = 0u;\nbarrier();\nif (gl_SubgroupID == 1u) atomicExchange(part[0], 1u);\n"
        "else while (atomicAdd(part[0], 0u) == 0u);\nb[g] = 1u;"
    )
    report = checked(written(source), "--subgroup-size", "64", "--lanes", "linear", "--full-subgroups")
    assert _kinds(report) == []
    assert any("subgroups of a workgroup make progress" in note for note in report["covered"]["notes"])


def test_writes_that_race_only_apart_are_found(checked, written) -> None:
    """An append after an early return: all that it writes depends on the order of atomics."""
    shader = written("""#version 450
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer Counter { uint n; };
layout(binding = 1) writeonly buffer Out { uint places[]; };
layout(push_constant) uniform PC { uint count; } pc;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= pc.count) return;
    uvec4 b = subgroupBallot(true);
    uint base = 0u;
    if (subgroupElect()) base = atomicAdd(n, subgroupBallotBitCount(b));
    base = subgroupBroadcastFirst(base);
    places[base + subgroupBallotExclusiveBitCount(b)] = i;
}
""")
    report = checked(shader, "--push", "count=250", "--groups", "4")
    (finding,) = report["findings"]
    assert (finding["kind"], finding["place"]["line"]) == ("reconvergence", 13)
