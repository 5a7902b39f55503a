"""Rules of KHR_shader_subgroup for compilers: versions, parts, macros, types, constant expressions."""

from __future__ import annotations

import pytest

from vkgroup.base.errors import CompileError
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.spec.categories import KHR_CATEGORIES
from vkgroup.spec.operations import BUILTIN_VARIABLES
from vkgroup.spirv import Module, grammar

PARTS = [category.value for category in KHR_CATEGORIES]
RELAXED_PRECISION = 0  # SPIR-V, Decoration
BUILTIN = 11


def shader(
    parts: str, statement: str, version: str = "460", before: str = "", behaviour: str = "enable"
) -> str:
    """Return a shader with a buffer of uint that executes one statement."""
    lines = [f"#version {version}"]
    lines += [f"#extension GL_KHR_shader_subgroup_{part} : {behaviour}" for part in parts.split()]
    lines += [before, "layout(set = 0, binding = 0) buffer Data { uint data[]; };"]
    return "\n".join([*lines, "void main() {", statement, "}"])


def compiled(
    source: str, stage: str = "compute", target: TargetEnvironment = TargetEnvironment.VULKAN_1_1
) -> Module:
    return compile_source(source, stage=stage, target=target, cache=False)


def refused(
    source: str, stage: str = "compute", target: TargetEnvironment = TargetEnvironment.VULKAN_1_1
) -> str:
    with pytest.raises(CompileError) as caught:
        compiled(source, stage, target)
    return str(caught.value)


@pytest.mark.parametrize("version", ["140", "150", "330", "420", "430", "450", "460", "310 es", "320 es"])
def test_versions_that_may_use_it(version: str) -> None:
    precision = "precision highp float;" if version.endswith("es") else ""
    source = (
        f"#version {version}\n#extension GL_KHR_shader_subgroup_basic : require\n{precision}\n"
        "void main() { if (subgroupElect()) { uint size = gl_SubgroupSize; } }"
    )
    assert "GroupNonUniform" in compiled(source, "fragment").reflection.capabilities


@pytest.mark.parametrize("version", ["110", "120", "130", "100", "300 es"])
def test_older_versions_may_not(version: str) -> None:
    source = f"#version {version}\n#extension GL_KHR_shader_subgroup_basic : require\nvoid main() {{}}"
    assert "version" in refused(source, "fragment")


@pytest.mark.parametrize("part", PARTS)
def test_every_part_enables_the_basic_one(part: str) -> None:
    module = compiled(shader(part, "if (subgroupElect()) data[0] = gl_SubgroupSize; subgroupBarrier();"))
    assert "GroupNonUniform" in module.reflection.capabilities


@pytest.mark.parametrize("part", [part for part in PARTS if part != "ballot"])
def test_no_other_part_enables_the_ballot_masks(part: str) -> None:
    assert "GL_KHR_shader_subgroup_ballot" in refused(shader(part, "data[0] = gl_SubgroupEqMask.x;"))


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_supported_defines_its_macro_as_one(part: str) -> None:
    macro = f"GL_KHR_shader_subgroup_{part}"
    for line in ("", f"#extension {macro} : require"):
        compiled(f"#version 450\n{line}\n#if {macro} != 1\n#error other\n#endif\nvoid main() {{}}")
        assert "defined it is" in refused(
            f"#version 450\n{line}\n#ifdef {macro}\n#error defined it is\n#endif\nvoid main() {{}}"
        )


def test_the_common_name_is_no_extension_to_enable() -> None:
    message = refused("#version 450\n#extension GL_KHR_shader_subgroup : require\nvoid main() {}")
    assert "GL_KHR_shader_subgroup" in message


@pytest.mark.parametrize("behaviour", ["require", "enable", "warn", "disable"])
@pytest.mark.parametrize("part", PARTS)
def test_each_behaviour(part: str, behaviour: str) -> None:
    use = {
        "basic": "if (subgroupElect()) data[0] = 1u;",
        "vote": "if (subgroupAll(data[0] > 1u)) data[0] = 1u;",
        "arithmetic": "data[0] = subgroupAdd(data[0]);",
        "ballot": "data[0] = subgroupBallot(true).x;",
        "shuffle": "data[0] = subgroupShuffle(data[0], 1u);",
        "shuffle_relative": "data[0] = subgroupShuffleUp(data[0], 1u);",
        "clustered": "data[0] = subgroupClusteredAdd(data[0], 4u);",
        "quad": "data[0] = subgroupQuadSwapVertical(data[0]);",
    }[part]
    source = shader(part, use, behaviour=behaviour)
    if behaviour == "disable":
        assert f"GL_KHR_shader_subgroup_{part}" in refused(source)
    else:
        assert compiled(source).reflection.subgroup_uses


BROADCASTS = [("ballot", "subgroupBroadcast"), ("quad", "subgroupQuadBroadcast")]


@pytest.mark.parametrize(("part", "function"), BROADCASTS)
def test_the_id_of_a_broadcast_is_a_constant_expression(part: str, function: str) -> None:
    """SPIR-V 1.5 takes a dynamically uniform id, and from there on so does the compiler."""
    constant = shader(part, f"data[0] = {function}(data[1], TWO + 1u);", before="const uint TWO = 2u;")
    dynamic = shader(part, f"data[0] = {function}(data[1], data[2]);")
    for target in (TargetEnvironment.VULKAN_1_1, TargetEnvironment.VULKAN_1_2):
        compiled(constant, target=target)
    assert "constant" in refused(dynamic)
    compiled(dynamic, target=TargetEnvironment.VULKAN_1_2)


@pytest.mark.parametrize("operator", ["Add", "Mul", "Min", "Max", "And", "Or", "Xor"])
@pytest.mark.parametrize(
    ("size", "complaint"),
    [
        ("data[2]", "constant"),
        ("0u", "at least 1"),
        ("3u", "power of 2"),
        ("6u", "power of 2"),
        ("SPECIALIZED", "constant"),
    ],
)
def test_a_cluster_size_is_a_constant_power_of_two(operator: str, size: str, complaint: str) -> None:
    before = "layout(constant_id = 0) const uint SPECIALIZED = 4u;"
    call = f"data[0] = subgroupClustered{operator}(data[1], {size});"
    assert complaint in refused(shader("clustered", call, before=before))


@pytest.mark.parametrize("size", ["1u", "2u", "4u", "8u", "16u", "32u", "64u", "128u", "2u * 4u"])
def test_a_cluster_size_may_be_any_power_of_two(size: str) -> None:
    (use,) = compiled(
        shader("clustered", f"data[0] = subgroupClusteredAdd(data[1], {size});")
    ).reflection.subgroup_uses
    assert use.operation == "OpGroupNonUniformIAdd"


@pytest.mark.parametrize(
    "statement",
    [
        "data[0] = subgroupShuffleXor(data[1], 4u);",
        "for (uint i = 1u; i < 128u; i *= 2u) data[0] += subgroupShuffleXor(data[1], i);",
        "data[0] = subgroupShuffleXor(data[1], data[2]);",
        "data[0] = subgroupShuffleXor(data[1], 3u);",
    ],
)
def test_the_mask_of_a_shuffle_is_not_restricted(statement: str) -> None:
    """Revision 6 asks for a power of two from a constant or a loop; later ones, and SPIR-V, do not."""
    (use,) = compiled(shader("shuffle", statement)).reflection.subgroup_uses
    assert use.operation == "OpGroupNonUniformShuffleXor"


@pytest.mark.parametrize("variable", BUILTIN_VARIABLES.values(), ids=lambda variable: variable.name)
def test_variables_have_their_types_and_cannot_be_written(variable) -> None:  # type: ignore[no-untyped-def]
    part = variable.category.value
    compiled(shader(part, f"{variable.type} value = {variable.name};"))
    for other in ("int", "uvec2", "bool", "ivec4"):
        refused(shader(part, f"{other} value = {variable.name};"))
    assert "l-value" in refused(shader(part, f"{variable.name} = {variable.type}(0u);"))


def test_variables_have_their_precisions_in_es() -> None:
    uses = " ".join(
        f"total += uint({variable.name}{'.x' if variable.type.components > 1 else ''});"
        for variable in BUILTIN_VARIABLES.values()
    )
    source = shader(
        "ballot", f"uint total = 0u; {uses} data[0] = total;", "310 es", "layout(local_size_x = 4) in;"
    )
    rows = [row.operands for row in compiled(source).instructions if row.name == "OpDecorate"]
    relaxed = {operands[0] for operands in rows if operands[1] == RELAXED_PRECISION}
    builtins = {operands[0]: operands[2] for operands in rows if operands[1] == BUILTIN}
    found = {
        grammar().enumerant("BuiltIn", number) for target, number in builtins.items() if target in relaxed
    }
    assert found == {"SubgroupSize", "SubgroupLocalInvocationId"}


@pytest.mark.parametrize(
    ("part", "statement"),
    [
        ("basic", "subgroupElect(1u);"),
        ("basic", "subgroupBarrier(1u);"),
        ("vote", "subgroupAll(data[0]);"),
        ("vote", "subgroupAny();"),
        ("vote", "uint x = subgroupAllEqual(data[0]);"),
        ("ballot", "uint x = subgroupBallot(true);"),
        ("ballot", "uvec4 x = subgroupBallot(data[0]);"),
        ("ballot", "bool x = subgroupInverseBallot(data[0]);"),
        ("ballot", "bool x = subgroupBallotBitExtract(uvec4(1u));"),
        ("ballot", "uvec4 x = subgroupBallotBitCount(uvec4(1u));"),
        ("ballot", "uint x = subgroupBallotFindLSB(1u);"),
        ("ballot", "uint x = subgroupBroadcast(data[0]);"),
        ("shuffle", "uint x = subgroupShuffle(data[0]);"),
        ("shuffle_relative", "uint x = subgroupShuffleUp(data[0], 1.0);"),
        ("arithmetic", "uint x = subgroupAdd(data[0], 4u);"),
        ("clustered", "uint x = subgroupClusteredAdd(data[0]);"),
        ("quad", "uint x = subgroupQuadSwapDiagonal(data[0], 1u);"),
    ],
)
def test_other_operands_and_results_are_refused(part: str, statement: str) -> None:
    refused(shader(part, statement))
