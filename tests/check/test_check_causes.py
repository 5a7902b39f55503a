"""Errors with one cause are one finding: an assumed order of lanes, an assumed subgroup size."""

from __future__ import annotations

import pytest

_LANE_AS_INDEX = """#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
shared uint s[256];
shared uint t[256];
void main() {
    uint wave = gl_LocalInvocationIndex / gl_SubgroupSize;
    uint index = wave * gl_SubgroupSize + gl_SubgroupInvocationID;     // needs lanes in order
    s[index] = a[gl_WorkGroupID.x * 256u + index];
    t[255u - index] = s[index] * 2u;
    barrier();
    a[gl_WorkGroupID.x * 256u + index] = s[255u - index] + t[index];
}
"""


def test_errors_that_vanish_with_lanes_in_order_are_one_finding(checked, written) -> None:
    report = checked(written(_LANE_AS_INDEX), "--subgroup-size", "8,32")
    assert report["code"] == 1
    (finding,) = report["findings"]
    assert finding["kind"] == "assumes"
    assert all(run["shuffled"] for run in finding["configurations"])
    lines = [finding["place"]["line"], *(place["line"] for place in finding["further"])]
    assert len(lines) == len(set(lines)) > 1
    assert "--lanes linear" in finding["help"]
    assert checked(written(_LANE_AS_INDEX), "--lanes", "linear", "--full-subgroups")["findings"] == []


def test_another_error_stays_a_finding_of_its_own(checked, written) -> None:
    text = _LANE_AS_INDEX.replace("+ t[index];", "+ t[index] + 1u / (gl_LocalInvocationIndex & 1u);")
    report = checked(written(text), "--subgroup-size", "8,32")
    assert sorted(finding["kind"] for finding in report["findings"]) == ["assumes", "undefined"]


def test_writes_of_the_same_value_stay_weak(checked, written) -> None:
    report = checked(
        written("""#version 460
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer A { uint a[]; };
shared uint s[64];
void main() {
    if (gl_LocalInvocationIndex < 4u) s[gl_SubgroupID] = 1u;
    barrier();
    a[gl_GlobalInvocationID.x] = 0u;
}
"""),
        *("--subgroup-size", "4"),
    )
    assert (report["code"], [finding["kind"] for finding in report["findings"]]) == (0, ["same_value"])


_BUTTERFLY = """#version 460
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A {{ uint a[]; }};
layout(binding = 1) buffer T {{ uint total; }};
void main() {{
    uint v = a[gl_GlobalInvocationID.x];
    for (uint d = {start}u; d > 0u; d >>= 1u)
        v += subgroupShuffleXor(v, d);
    if (subgroupElect()) atomicAdd(total, v);
}}
"""


@pytest.mark.parametrize("start", [8, 16])
def test_a_butterfly_is_one_finding_with_the_lines_of_its_errors(start: int, checked, written) -> None:
    report = checked(written(_BUTTERFLY.format(start=start)), "--subgroup-size", "4,16,32,64")
    assert report["code"] == 1
    (finding,) = report["findings"]
    assert (finding["kind"], finding["place"]["line"]) == ("assumes", 9)
    assert [place["line"] for place in finding["further"]] == [10]
    assert any(note["message"].startswith("undefined: ") for note in finding["notes"])


def test_an_error_at_every_size_is_not_attributed_to_the_assumed_size(checked, written) -> None:
    text = _BUTTERFLY.format(start=16).replace("total, v", "total, v / gl_SubgroupID")
    report = checked(written(text), "--subgroup-size", "8,16,32")
    kinds = [finding["kind"] for finding in report["findings"]]
    assert "undefined" in kinds


def test_a_difference_that_begins_at_an_undefined_value_is_part_of_it(checked, written) -> None:
    report = checked(
        written("""#version 460
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint last = subgroupBroadcast(a[i], 15);
    b[i] = last;
}
"""),
        *("--lanes", "linear", "--subgroup-size", "8,16,32", "--full-subgroups"),
    )
    (finding,) = report["findings"]
    assert (finding["kind"], finding["place"]["line"]) == ("undefined", 8)
    assert [place["line"] for place in finding["further"]] == [9]
    assert finding["sizes"][:2] == [8, 16]


def test_barriers_that_the_same_invocations_miss_are_one_finding(checked, written) -> None:
    report = checked(
        written("""#version 460
layout(local_size_x = 64) in;
layout(binding = 0) buffer A { uint a[]; };
shared uint s[64];
void main() {
    uint l = gl_LocalInvocationIndex;
    if (l > 40u) return;
    s[l] = l;
    barrier();
    uint x = s[40u - l];
    barrier();
    a[gl_GlobalInvocationID.x] = x;
}
"""),
        *("--subgroup-size", "8,32"),
    )
    (finding,) = report["findings"]
    assert (finding["kind"], finding["place"]["line"]) == ("barrier", 9)
    assert [place["line"] for place in finding["further"]] == [11]


def test_a_race_of_workgroups_is_no_order_of_lanes(checked, written) -> None:
    """Workgroups write equal values with lanes in order, and others with shuffled lanes: a race in both."""
    shader = written("""#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) writeonly buffer B { uint b[]; };
void main() { b[gl_LocalInvocationIndex] = subgroupAdd(a[gl_LocalInvocationIndex]); }
""")
    report = checked(shader, "--groups", "2", "--subgroup-size", "8")
    (finding,) = report["findings"]
    assert finding["kind"] == "race"
    assert {run["shuffled"] for run in finding["configurations"]} == {False, True}
    assert "does not order workgroups" in finding["help"]


def test_findings_in_hlsl_have_the_names_of_hlsl(checked, written) -> None:
    text = """RWStructuredBuffer<uint> a : register(u0);
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
    a[id.x / WaveGetLaneCount() * WaveGetLaneCount() + WaveGetLaneIndex()] = WaveActiveSum(id.x);
}
"""
    (finding,) = checked(written(text, "shader.hlsl"), "--subgroup-size", "8")["findings"]
    assert finding["kind"] == "assumes"
    assert "SV_GroupIndex" in finding["message"]
    assert "WaveGetLaneIndex()" in finding["help"]
    assert "gl_" not in finding["message"] + finding["help"]


_BY_32 = """#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) writeonly buffer B { uint b[]; };
shared uint largest[8];
shared uint sums[8];
void main() {
    uint x = a[gl_GlobalInvocationID.x] & 255u;
    uint m = subgroupMax(x);
    if (gl_LocalInvocationIndex % 32u == 0u) largest[gl_LocalInvocationIndex / 32u] = m;
    barrier();
    for (uint i = 0u; i < 8u; i++) m = max(m, largest[i]);
    uint s = subgroupAdd(x);
    if (gl_LocalInvocationIndex % 32u == 0u) sums[gl_LocalInvocationIndex / 32u] = s;
    barrier();
    s = 0u;
    for (uint i = 0u; i < 8u; i++) s += sums[i];
    b[gl_GlobalInvocationID.x] = s + min(m, 1u);
}
"""


def test_the_assumed_size_is_right_only_with_lanes_in_order(checked, written) -> None:
    report = checked(written(_BY_32))
    (finding,) = report["findings"]
    assert finding["kind"] == "assumes"
    at_32 = [run for run in finding["configurations"] if run["subgroup_size"] == 32]
    assert [run["shuffled"] for run in at_32] == [True]
    assert "right only with lanes in order at size 32" in report["text"]
    # Both arrays and both bounds follow the size, although the first loop is harmless: min(m, 1u).
    (proved,) = (note["message"] for note in finding["notes"] if note["message"].startswith("proved"))
    assert "line 6, 7, 11, 13, 15 and 18" in proved
