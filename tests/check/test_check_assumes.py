"""Assumed subgroup sizes: proved by experiment where a constant can follow the size, told where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from vkgroup.check import FindingKind, check
from vkgroup.compiler import TargetEnvironment, compile_source, validate
from vkgroup.spirv import Module
from vkgroup.spirv.editor import replace_constants

_WRONG = Path(__file__).parent / "wrong"

_CLUSTERS = """#version 460
#extension GL_KHR_shader_subgroup_clustered : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer Values { uint values[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    values[i] = subgroupClusteredAdd(values[i], SIZEu);
}
"""


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("butterfly_from_sixteen", "size 1, 4, 8, 16 and 64 are"),
        (
            "exclusive_scan_by_hand",
            "in line 12 and 15 follow the subgroup size, the outputs at size 64 and 128",
        ),
        ("lane_sixty_three", "size 1, 4, 8, 16, 32 and 128 are those at size 64"),
        ("one_slot_for_thirty_two", "in line 9, 13, 14 and 18 follow"),
        ("only_for_warps", "size 1, 4, 8, 16, 64 and 128 are"),
        ("partials_by_warp", "in line 12, 13 and 16 follow"),
        ("subgroup_by_a_shift", "in line 11 and 12 follow"),
        ("total_from_lane_thirty_one", "as that number less one"),
    ],
)
def test_an_experiment_proves_the_size(name: str, sizes: str) -> None:
    findings = [
        entry for entry in check(_WRONG / f"{name}.comp").findings if entry.kind == FindingKind.ASSUMES
    ]
    assert findings
    for finding in findings:
        assert finding.proved
        assert any(note.message.startswith("proved: if ") and sizes in note.message for note in finding.notes)


@pytest.mark.parametrize(
    "name", ["cluster_of_thirty_two", "first_word_of_the_ballot", "lanes_below_me", "rows_of_sixteen_lanes"]
)
def test_what_no_constant_can_mend_is_told_without_proof(name: str) -> None:
    findings = [
        entry for entry in check(_WRONG / f"{name}.comp").findings if entry.kind == FindingKind.ASSUMES
    ]
    assert findings
    assert not any(finding.proved for finding in findings)


@pytest.mark.parametrize(("size", "expected"), [(4, 0), (16, 1)])
def test_small_clusters_are_no_assumption_of_a_size(size: int, expected: int) -> None:
    text = _CLUSTERS.replace("SIZE", str(size))
    report = check(compile_source(text, stage="compute", target=TargetEnvironment.VULKAN_1_2, debug=True))
    clusters = [finding for finding in report.findings if "a cluster of" in finding.message]
    assert [finding.kind for finding in clusters] == [FindingKind.ASSUMES] * expected
    undefined = [finding for finding in report.findings if finding.kind == FindingKind.UNDEFINED]
    undefined += [note for finding in clusters for note in finding.notes if "undefined:" in note.message]
    assert undefined


def _constants(module: Module, name: str) -> dict[int, tuple[int, ...]]:
    return {entry.result_id: entry.operands for entry in module.instructions if entry.name == name}


def test_one_use_of_a_constant_is_replaced() -> None:
    module = compile_source(
        "#version 460\n#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
        "layout(local_size_x = 1) in;\nlayout(binding = 0) buffer B { uint64_t b[]; };\n"
        "void main() { b[0] = b[1] / 32ul; b[2] = b[3] % 32ul; }\n",
        stage="compute",
        target=TargetEnvironment.VULKAN_1_2,
    )
    division = next(entry for entry in module.instructions if entry.name == "OpUDiv")
    word = division.position + 4
    changed = replace_constants(module, {word: 1 << 40 | 5})
    validate(changed, TargetEnvironment.VULKAN_1_2)
    before, after = _constants(module, "OpConstant"), _constants(changed, "OpConstant")
    assert set(after) - set(before) == {module.bound}
    assert after[module.bound] == (5, 1 << 8)
    added = len(changed.words) - len(module.words)
    assert changed.words[word + added] == module.bound
    remainder = next(entry for entry in changed.instructions if entry.name == "OpUMod")
    assert before[remainder.operands[1]] == (32, 0)
