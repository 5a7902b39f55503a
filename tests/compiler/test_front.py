"""compile_source and compile_file: stages, targets, options, dialects."""

from __future__ import annotations

from pathlib import Path

import pytest
from sources import BY_STAGE, COMPUTE, diagnostics_of, places

from vkgroup.base.errors import CompileError
from vkgroup.compiler import TargetEnvironment, compile_file, compile_source, disassemble, validate
from vkgroup.spec.stages import STAGES, Stage

EXTENDED_TYPES = ("int8", "int16", "int64", "float16")
SUBGROUP_CATEGORIES = (
    "basic",
    "vote",
    "arithmetic",
    "ballot",
    "shuffle",
    "shuffle_relative",
    "clustered",
    "quad",
)
SINCE_1_1 = [target for target in TargetEnvironment if target is not TargetEnvironment.VULKAN_1_0]


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_every_stage_compiles_by_name_and_by_suffix(stage: Stage, tmp_path: Path) -> None:
    source = BY_STAGE[stage.name]
    module = compile_source(source, stage=stage.name, target=TargetEnvironment.VULKAN_1_2)
    assert [entry.stage for entry in module.reflection.entry_points] == [stage.name]
    assert compile_source(source, stage=stage.suffix, target=TargetEnvironment.VULKAN_1_2) == module
    for name in (f"a.{stage.suffix}", f"a.b.{stage.suffix}.glsl"):
        (tmp_path / name).write_text(source)
        assert compile_file(tmp_path / name, target=TargetEnvironment.VULKAN_1_2) == module
    (tmp_path / "a.txt").write_text(source)
    assert compile_file(tmp_path / "a.txt", stage=stage.name, target=TargetEnvironment.VULKAN_1_2) == module


@pytest.mark.parametrize("stage", ["task", "mesh", "raygen"])
def test_vulkan_1_1_with_spirv_1_4_has_the_newer_stages(stage: str) -> None:
    module = compile_source(BY_STAGE[stage], stage=stage, target=TargetEnvironment.VULKAN_1_1_SPIRV_1_4)
    assert module.version == (1, 4)


@pytest.mark.parametrize("target", list(TargetEnvironment))
def test_targets(target: TargetEnvironment) -> None:
    module = compile_source(COMPUTE, stage="compute", target=target)
    assert module.version == target.spirv_version
    validate(module, target)


@pytest.mark.parametrize(
    ("version", "target"),
    [
        ((1, 0), TargetEnvironment.VULKAN_1_0),
        ((1, 1), TargetEnvironment.VULKAN_1_1),
        ((1, 2, 131), TargetEnvironment.VULKAN_1_2),
        ((1, 3, 0), TargetEnvironment.VULKAN_1_3),
        ((1, 4), TargetEnvironment.VULKAN_1_4),
        ((1, 9), TargetEnvironment.VULKAN_1_4),
        ((2, 0), TargetEnvironment.VULKAN_1_4),
        ((0, 9), TargetEnvironment.VULKAN_1_0),
        (1 << 22 | 1 << 12 | 77, TargetEnvironment.VULKAN_1_1),
        (1 << 22 | 3 << 12 | 255, TargetEnvironment.VULKAN_1_3),
        (1 << 22 | 4 << 12 | 312, TargetEnvironment.VULKAN_1_4),
    ],
)
def test_target_of_a_device(version: int | tuple[int, ...], target: TargetEnvironment) -> None:
    assert TargetEnvironment.for_api_version(version) is target


@pytest.mark.parametrize("target", SINCE_1_1)
@pytest.mark.parametrize("category", SUBGROUP_CATEGORIES)
def test_subgroup_categories_compile(category: str, target: TargetEnvironment) -> None:
    use = {
        "basic": "subgroupElect()",
        "vote": "subgroupAll(x > 0)",
        "arithmetic": "subgroupInclusiveAdd(x) > 0",
        "ballot": "subgroupBallot(true).x > 0",
        "shuffle": "subgroupShuffleXor(x, 1) > 0",
        "shuffle_relative": "subgroupShuffleUp(x, 1) > 0",
        "clustered": "subgroupClusteredMax(x, 4) > 0",
        "quad": "subgroupQuadSwapDiagonal(x) > 0",
    }[category]
    source = (
        f"#version 460\n#extension GL_KHR_shader_subgroup_{category} : require\n"
        f"layout(binding = 0) buffer B {{ uint v; }} b;\nvoid main() {{ uint x = b.v; if ({use}) b.v = 1; }}"
    )
    capabilities = compile_source(source, stage="compute", target=target).reflection.capabilities
    name = {"basic": "", "shuffle_relative": "ShuffleRelative"}.get(category, category.capitalize())
    assert f"GroupNonUniform{name}" in capabilities


@pytest.mark.parametrize("target", SINCE_1_1)
@pytest.mark.parametrize("kind", EXTENDED_TYPES)
def test_subgroup_operations_on_extended_types_compile(kind: str, target: TargetEnvironment) -> None:
    glsl = "float16_t" if kind == "float16" else f"{kind}_t"
    source = f"""#version 460
        #extension GL_KHR_shader_subgroup_arithmetic : require
        #extension GL_EXT_shader_explicit_arithmetic_types_{kind} : require
        #extension GL_EXT_shader_subgroup_extended_types_{kind} : require
        layout(binding = 0) buffer B {{ {glsl} v; }} b;
        void main() {{ b.v = subgroupAdd(b.v); }}
    """
    (use,) = compile_source(source, stage="compute", target=target).reflection.subgroup_uses
    assert use.type is not None
    assert use.type.glsl == glsl


@pytest.mark.parametrize("target", SINCE_1_1)
def test_instructions_by_spirv_intrinsics_compile(target: TargetEnvironment) -> None:
    source = """#version 460
        #extension GL_EXT_spirv_intrinsics : require
        #extension GL_KHR_shader_subgroup_basic : require
        spirv_instruction(extensions = ["SPV_KHR_subgroup_rotate"], capabilities = [6026], id = 4431)
        uint subgroupRotate(uint subgroup_scope, uint value, uint delta);
        layout(binding = 0) buffer B { uint v; } b;
        void main() { b.v = subgroupRotate(3u, b.v, 1u); }
    """
    reflection = compile_source(source, stage="compute", target=target).reflection
    assert "GroupNonUniformRotateKHR" in reflection.capabilities
    assert "SPV_KHR_subgroup_rotate" in reflection.extensions
    assert {use.operation for use in reflection.subgroup_uses} == {"OpGroupNonUniformRotateKHR"}


def test_definitions() -> None:
    source = "#version 460\nlayout(local_size_x = SIZE) in;\n#if MODE == 2 && defined(FLAG)\n"
    source += "void main() {}\n#endif"
    module = compile_source(source, stage="compute", defines={"SIZE": 48, "MODE": "1 + 1", "FLAG": ""})
    size = module.reflection.entry_points[0].local_size
    assert size is not None
    assert size.resolve() == (48, 1, 1)


@pytest.mark.parametrize("dialect", ["vulkan", "gl", "hlsl"])
def test_function_like_definitions(dialect: str) -> None:
    check_function_like_definitions(dialect, "glslang")


@pytest.mark.parametrize("dialect", ["vulkan", "hlsl"])
def test_function_like_definitions_with_glslc(glslc: Path, dialect: str) -> None:
    check_function_like_definitions(dialect, "shaderc")


def check_function_like_definitions(dialect: str, compiler: str) -> None:
    defines: dict[str, str | int] = {"TWICE(x)": "((x) * 2)", "SUM( a , b )": "(a + TWICE(b))", "ONE()": 1}
    size = "SUM(ONE(), 3) + TWICE(TWICE(1))"
    glsl = f"#version 460\nlayout(local_size_x = {size}) in;\nvoid main() {{}}"
    hlsl = f"[numthreads({size}, 1, 1)] void main() {{}}"
    source = hlsl if dialect == "hlsl" else glsl
    module = compile_source(source, stage="compute", dialect=dialect, compiler=compiler, defines=defines)
    local_size = module.reflection.entry_points[0].local_size
    assert local_size is not None
    assert local_size.resolve() == (11, 1, 1)


def test_definitions_end_with_undef() -> None:
    # glslang reads the preprocessed text a second time, when the line with #undef is gone.
    source = "#version 460\n#undef X\nconst uint X = 4;\nshared uint a[X];\nvoid main() { a[0] = 1; }"
    module = compile_source(source, stage="compute", defines={"X": "oops"})
    assert module.reflection.workgroup_memory == 16


@pytest.mark.parametrize(
    ("defines", "message"),
    [
        ({"2X": 1}, "'2X'"),
        ({"X(a": 1}, "'X\\(a' is not a valid macro name; write NAME, or NAME\\(x,y\\)"),
        ({"X(1)": 1}, "X"),
        ({"X(a,)": 1}, "X"),
        ({"X (a)": 1}, "X"),
        ({"X(a)b": 1}, "X"),
        ({"": 1}, "''"),
        ({"X": "1\n#error"}, "one line"),
        ({"X": "ä"}, "ASCII"),
        ({"X": "a\0b"}, "one line"),
    ],
)
def test_definitions_that_cannot_be(defines: dict[str, str | int], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        compile_source(COMPUTE, stage="compute", defines=defines)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stage": "pixel"}, "unknown stage 'pixel'; choose one of: vertex"),
        ({"stage": "compute", "dialect": "cg"}, "unknown dialect 'cg'"),
        ({"stage": "compute", "optimize": "fast"}, "unknown optimization 'fast'; choose one of: performance"),
        ({"stage": "compute", "compiler": "clang"}, "unknown compiler 'clang'"),
        ({"stage": "compute", "entry_point": "a b"}, "'a b' is not a valid name of an entry point"),
    ],
)
def test_options_that_do_not_exist(options: dict[str, str], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        compile_source(COMPUTE, **options)  # type: ignore[arg-type]


def test_glsl_without_a_version_is_4_60() -> None:
    module = compile_source("#if __VERSION__ != 460\n#error\n#endif\nvoid main() {}", stage="compute")
    assert module.reflection.entry_points[0].stage == "compute"


def test_entry_point_is_renamed() -> None:
    module = compile_source(COMPUTE, stage="compute", entry_point="increment")
    assert module.reflection.entry_points[0].name == "increment"


def test_debug_lines_name_every_file(tmp_path: Path) -> None:
    (tmp_path / "one.glsl").write_text("int one(int x) {\n    return x + 1;\n}\n")
    shader = tmp_path / "main.comp"
    shader.write_text(
        '#version 460\n#include "one.glsl"\nlayout(binding = 0) buffer B { int v; } b;\n'
        "void main() {\n    b.v = one(b.v);\n}\n"
    )
    module = compile_file(shader, debug=True)
    text = disassemble(module, friendly_names=False)
    strings = {line.split()[0]: line.split('"')[1] for line in text.splitlines() if "OpString" in line}
    lines = {
        (strings[line.split()[1]], int(line.split()[2])) for line in text.splitlines() if "OpLine" in line
    }
    assert (str(shader), 5) in lines
    assert (str(tmp_path / "one.glsl"), 2) in lines
    assert module.debug_source == shader.read_text()
    assert "OpLine" not in disassemble(compile_file(shader))


@pytest.mark.parametrize("level", ["performance", "size", True])
def test_optimisation_shrinks_and_keeps_the_interface(level: str | bool) -> None:
    source = """#version 460
        layout(constant_id = 1) const uint unused = 3;
        layout(binding = 0) buffer B { uint v; } b;
        layout(binding = 1) buffer C { uint v; } c;
        uint twice(uint x) { uint y = x; uint z = y; return y + z; }
        void main() { if (false) b.v = 7; b.v = twice(b.v) + 0 * 5; }
    """
    plain = compile_source(source, stage="compute")
    optimized = compile_source(source, stage="compute", optimize=level)
    assert len(optimized.words) < len(plain.words)
    names = [[binding.name for binding in module.reflection.bindings] for module in (plain, optimized)]
    assert names == [["b", "c"], ["b", "c"]]
    assert [c.id for c in optimized.reflection.specialization_constants] == [1]


def test_dialect_gl_takes_what_vulkan_refuses() -> None:
    source = """#version 460
        layout(local_size_x = 4) in;
        uniform float scale;
        layout(std430) buffer Data { float v[]; };
        layout(r32f) uniform image2D picture;
        void main() { v[gl_LocalInvocationIndex] *= scale; imageStore(picture, ivec2(0), vec4(1)); }
    """
    found = diagnostics_of(lambda: compile_source(source, stage="compute"))
    assert ("<string>", 3) in places(found)
    bindings = compile_source(source, stage="compute", dialect="gl").reflection.bindings
    assert len({(binding.set, binding.binding) for binding in bindings}) == len(bindings) == 3
    assert {binding.kind for binding in bindings} == {"storage_buffer", "uniform_buffer", "storage_image"}


HLSL = """
RWStructuredBuffer<uint> data : register(u0);
[numthreads(32, 2, 1)]
void increment(uint3 id : SV_DispatchThreadID) { data[id.x] += WaveActiveSum(id.x); }
"""


def test_dialect_hlsl(tmp_path: Path) -> None:
    file = tmp_path / "increment.comp.hlsl"
    file.write_text(HLSL)
    module = compile_file(file, entry_point="increment")
    assert module == compile_source(HLSL, stage="compute", dialect="hlsl", entry_point="increment")
    (entry,) = module.reflection.entry_points
    assert (entry.name, entry.stage) == ("increment", "compute")
    assert entry.local_size is not None
    assert entry.local_size.resolve() == (32, 2, 1)
    assert [(binding.name, binding.kind) for binding in module.reflection.bindings] == [
        ("data", "storage_buffer")
    ]
    found = diagnostics_of(lambda: compile_source(HLSL + "\nfoo bar(;", stage="compute", dialect="hlsl"))
    assert places(found)[0] == ("<string>", 6)


def test_stage_is_not_guessed(tmp_path: Path) -> None:
    for name in ("shader", "shader.glsl", "shader.txt"):
        (tmp_path / name).write_text(COMPUTE)
        found = diagnostics_of(lambda name=name: compile_file(tmp_path / name))  # type: ignore[misc]
        assert found[0].file == str(tmp_path / name)
        assert ".comp" in found[0].message
    with pytest.raises(CompileError, match="unknown stage 'comput'; choose one of: vertex, "):
        compile_file(tmp_path / "shader.txt", stage="comput")


def test_hlsl_with_numthreads_is_a_compute_shader(tmp_path: Path) -> None:
    file = tmp_path / "shader.hlsl"
    file.write_text("[numthreads(8, 1, 1)] void main() {}")
    assert compile_file(file).reflection.entry_point(None).stage == "compute"
    file.write_text("float4 main() : SV_Target { return 0; }")
    with pytest.raises(CompileError, match="the suffix does not determine the stage"):
        compile_file(file)


def test_invalid_module_from_valid_glsl_is_a_compile_error() -> None:
    # glslang lets structures nest without end; SPIR-V stops at 255 (specification 2.17).
    nested = "struct S0 { int a; };\n" + "".join(f"struct S{i} {{ S{i - 1} a; }};\n" for i in range(1, 300))
    source = f"#version 460\n{nested}layout(binding = 0) buffer B {{ S299 s; }};\nvoid main() {{}}"
    (found,) = diagnostics_of(lambda: compile_source(source, stage="compute"))
    assert "not valid for vulkan1.2" in found.message
    assert "Nesting" in found.message
