"""Assumed subgroup sizes: proved by experiment where a constant can follow the size, told where it cannot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vkgroup.check import FindingKind, check
from vkgroup.compiler import TargetEnvironment, compile_file, compile_source, disassemble, validate
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


_DIVIDED = """#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 128) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint part[4];
uint modulo(uint lhs, uint rhs) { return lhs % (rhs == 0u ? 1u : rhs); }
uint divide(uint lhs, uint rhs) { return lhs / (rhs == 0u ? 1u : rhs); }
void main() {
    uint i = gl_LocalInvocationIndex, s = subgroupAdd(a[gl_GlobalInvocationID.x] + modulo(i, 32u + 9u));
    if (modulo(i, 32u) == 0u) part[divide(i, 32u)] = s;
    barrier();
    if (i == 0u) { uint t = 0u; for (uint k = 0u; k < 4u; k++) t += part[k]; b[gl_WorkGroupID.x] = t; }
}
"""
"""The functions are those of compilers of WGSL (tint, naga)."""


def _by_value(text: str) -> str:
    """Return the assembly of `_DIVIDED` with parameters that are values, as those compilers make them."""
    text = text.replace(
        "OpTypeFunction %uint %_ptr_Function_uint %_ptr_Function_uint", "OpTypeFunction %uint %uint %uint"
    )
    text = text.replace("OpFunctionParameter %_ptr_Function_uint", "OpFunctionParameter %uint")
    text = re.sub(r"OpLoad %uint (%[lr]hs\w*)", r"OpCopyObject %uint \1", text)
    numbers = iter(("41", "32", "32"))

    def call(found: re.Match[str]) -> str:
        result, function, first = found.groups()
        passed = f"{result}first"
        return (
            f"{passed} = OpLoad %uint {first}\n"
            f"{result} = OpFunctionCall %uint {function} {passed} %uint_{next(numbers)}"
        )

    return re.sub(r"(%\w+) = OpFunctionCall %uint (%\w+) (%param\w*) %param\w*", call, text)


@pytest.mark.parametrize("by_value", [False, True])
def test_a_constant_is_followed_through_parameters_and_selections(tmp_path: Path, by_value: bool) -> None:
    shader = tmp_path / "divided.comp"
    shader.write_text(_DIVIDED)
    if by_value:
        text = _by_value(disassemble(compile_file(shader)))
        assert text.count("OpCopyObject %uint %rhs") == 4
        shader = tmp_path / "divided.spvasm"
        shader.write_text(text)
    (finding,) = check(shader).findings
    assert (finding.kind, finding.proved) == (FindingKind.ASSUMES, True)
    assert "modulo 32" in finding.message
    if not by_value:
        assert finding.place.line == 11


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("constant", ["32u", "WIDTH"])
def test_a_constant_is_followed_through_helpers_of_helpers(
    tmp_path: Path, levels: int, constant: str
) -> None:
    helpers = "const uint WIDTH = 32u;\n"
    for level in range(2, levels + 1):
        for name in ("modulo", "divide"):
            inner = name if level == 2 else f"{name}{level - 1}"
            helpers += f"uint {name}{level}(uint n, uint width) {{ uint w = width; return {inner}(n, w); }}\n"
    text = _DIVIDED.replace("void main", f"{helpers}void main")
    main = text.index("void main")
    for name in ("modulo", "divide"):
        text = text[:main] + text[main:].replace(f"{name}(i, 32u)", f"{name}{levels}(i, {constant})")
    shader = tmp_path / "divided.comp"
    shader.write_text(text)
    (finding,) = check(shader).findings
    assert (finding.kind, finding.proved) == (FindingKind.ASSUMES, True)
    assert "modulo 32" in finding.message
    assert "if (modulo" in text.splitlines()[finding.place.line - 1]


def test_a_helper_that_serves_lanes_and_others_is_followed_for_lanes_only(tmp_path: Path) -> None:
    """The constant 64 belongs to a number that is no lane's."""
    helpers = "uint modulo2(uint n, uint width) { return modulo(n, width); }\n"
    text = _DIVIDED.replace("void main", f"{helpers}void main").replace("32u + 9u", "41u")
    text = text.replace("modulo(i, 32u)", "modulo2(i, 32u)")
    text = text.replace("= t;", "= t + modulo2(a[0], 64u);")
    shader = tmp_path / "divided.comp"
    shader.write_text(text)
    (finding,) = check(shader).findings
    assert finding.kind == FindingKind.ASSUMES
    assert not any(
        "modulo 64" in text for text in (finding.message, *(note.message for note in finding.notes))
    )


_TWO_LEVELS = """#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 256) in;
layout(binding = 0) buffer Values { uint values[]; };
shared uint part[256];
void main() {
    uint i = gl_LocalInvocationIndex, l = gl_SubgroupInvocationID, x = values[gl_GlobalInvocationID.x];
    uint s = subgroupAdd(x);
    if (subgroupElect()) part[gl_SubgroupID] = s;
    barrier();
    if (gl_SubgroupID == 0u) {
        uint t = subgroupAdd(l < gl_NumSubgroups ? part[l] : 0u);
        if (subgroupElect()) values[gl_WorkGroupID.x * 256u] = t;
    }
}
"""


@pytest.mark.parametrize(
    ("invocations", "expected"),
    [
        (256, "needs gl_NumSubgroups ≤ gl_SubgroupSize: there are 32 subgroups at size 8"),
        (64, "needs gl_NumSubgroups ≤ gl_SubgroupSize: there are 16 subgroups at size 4"),
        (1, None),
    ],
)
def test_a_second_level_with_too_few_lanes_says_what_it_needs(
    tmp_path: Path, invocations: int, expected: str | None
) -> None:
    shader = tmp_path / "two_levels.comp"
    shader.write_text(_TWO_LEVELS.replace("256", str(invocations)))
    notes = [note.message for finding in check(shader).findings for note in finding.notes]
    assert (expected in notes) if expected else not any("gl_NumSubgroups" in note for note in notes)
