"""GL_NV_shader_thread_group in GL sources: names, types, behaviours, lines, what modules need."""

from __future__ import annotations

import re

import pytest
from sources import diagnostics_of, places

from vkgroup.compiler import compile_source, disassemble, optimize
from vkgroup.compiler.front import link
from vkgroup.spec.thread_group_operations import STAGES, THREAD_GROUP_OPERATIONS
from vkgroup.spirv import Module
from vkgroup.spirv.editor import source_extensions

EXTENSION = "GL_NV_shader_thread_group"

LAYOUTS = {
    "vertex": "",
    "tessellation_control": "layout(vertices = 3) out;",
    "tessellation_evaluation": "layout(triangles) in;",
    "geometry": "layout(triangles) in; layout(points, max_vertices = 1) out;",
    "fragment": "",
    "compute": "layout(local_size_x = 32) in;",
}

COMMON = [name for name, row in THREAD_GROUP_OPERATIONS.items() if row.stages == STAGES]
FRAGMENT_ONLY = [name for name, row in THREAD_GROUP_OPERATIONS.items() if row.stages == ("fragment",)]
SM_BUILTINS = {"gl_WarpIDNV", "gl_SMIDNV", "gl_WarpsPerSMNV", "gl_SMCountNV"}
SWIZZLES = [name for name in THREAD_GROUP_OPERATIONS if name.startswith("quadSwizzle")]


def source_of(body: str, *, stage: str = "compute", behaviour: str = "require", version: str = "430") -> str:
    """Return a shader whose line 7 is `body`."""
    return (
        f"#version {version}\n"
        f"#extension {EXTENSION} : {behaviour}\n"
        f"{LAYOUTS[stage]}\n"
        "layout(std430, binding = 0) buffer Found { uint found[]; };\n"
        "void take(out uint x) { x = 1u; }\n"
        "void main() {\n"
        f"{body}\n"
        "}\n"
    )


def compiled(body: str, **options: str) -> Module:
    source = source_of(body, **options)
    return compile_source(source, stage=options.get("stage", "compute"), dialect="gl")


def use_of(name: str) -> str:
    """Return a statement that takes a built-in's value in the type that the document gives it."""
    if name.startswith("quadSwizzle"):
        return f"found[0] = uint({name}(1.0));"
    row = THREAD_GROUP_OPERATIONS[name]
    call = f"{name}({'true' if row.types else ''})" if row.is_function else name
    return f"{row.result.name} taken = {call}; found[0] = uint(taken);"


def errors(source: str, stage: str = "compute", dialect: str = "gl") -> list[tuple[int, str]]:
    found = diagnostics_of(lambda: compile_source(source, stage=stage, dialect=dialect))
    return [(item.line, item.message) for item in found]


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_the_names_that_the_document_gives_it(stage: str) -> None:
    body = " ".join(f"{{ {use_of(name)} }}" for name in COMMON)
    module = compiled(body, stage=stage)
    assert module.reflection.entry_points[0].stage == stage
    assert EXTENSION in source_extensions(module)


def test_every_name_of_the_document_is_in_the_table() -> None:
    assert len(COMMON) == 13
    assert set(FRAGMENT_ONLY) == {"gl_HelperThreadNV", *SWIZZLES}
    assert len(SWIZZLES) == 6


@pytest.mark.parametrize("name", COMMON)
def test_a_use_needs_what_the_table_says(name: str) -> None:
    capabilities = compiled(use_of(name)).reflection.capabilities
    row = THREAD_GROUP_OPERATIONS[name]
    needs = {"basic": "GroupNonUniform", "ballot": "GroupNonUniformBallot", "quad": "GroupNonUniformQuad"}
    assert capabilities - {"Shader"} == {
        *(needs[category] for category in row.categories),
        *(["ShaderSMBuiltinsNV"] if row.sm_builtin else []),
    }


def test_a_module_that_uses_no_sm_builtin_declares_none() -> None:
    body = " ".join(f"{{ {use_of(name)} }}" for name in COMMON if name not in SM_BUILTINS)
    reflection = compiled(body).reflection
    assert "ShaderSMBuiltinsNV" not in reflection.capabilities
    assert "SPV_NV_shader_sm_builtins" not in reflection.extensions


@pytest.mark.parametrize("type_", ["float", "vec2", "vec3", "vec4"])
@pytest.mark.parametrize("name", SWIZZLES)
def test_swizzles_take_one_or_two_operands_of_four_types(name: str, type_: str) -> None:
    body = f"{type_} x = {type_}(1.0); x = {name}(x); x = {name}(x, {type_}(2.0)); found[0] = uint(x);"
    reflection = compiled(body, stage="fragment").reflection
    assert {"GroupNonUniformQuad", "GroupNonUniformBallot"} <= reflection.capabilities


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "fragment"])
@pytest.mark.parametrize("name", ["quadSwizzleXNV", "gl_HelperThreadNV"])
def test_what_is_of_fragment_shaders_is_in_no_other(name: str, stage: str) -> None:
    found = errors(source_of(use_of(name), stage=stage), stage)
    assert found[0][0] == 7
    assert name in found[0][1]


@pytest.mark.parametrize("version", ["430", "430 core", "440", "450", "460"])
def test_helper_threads_are_known_in_every_version(version: str) -> None:
    text = disassemble(compiled(use_of("gl_HelperThreadNV"), stage="fragment", version=version))
    assert "BuiltIn HelperInvocation" in text


@pytest.mark.parametrize("behaviour", ["require", "enable", "warn"])
def test_each_behaviour_that_enables(behaviour: str) -> None:
    assert EXTENSION in source_extensions(compiled(use_of("gl_ThreadInWarpNV"), behaviour=behaviour))


def test_a_behaviour_that_is_none_is_an_error() -> None:
    assert errors(source_of("", behaviour="demand"))[0][0] == 2


@pytest.mark.parametrize("name", COMMON)
def test_without_the_extension_there_are_no_names(name: str) -> None:
    source = source_of(use_of(name)).replace(f"#extension {EXTENSION} : require", "")
    assert errors(source)[0][0] == 7
    disabled = source_of(use_of(name), behaviour="disable")
    assert errors(disabled)[0][0] == 7


def test_names_go_when_the_extension_is_disabled_again() -> None:
    source = source_of(use_of("gl_ThreadInWarpNV")) + (
        f"#extension {EXTENSION} : disable\n"
        "uint ballotThreadNV(int mine) { return uint(mine); }\n"
        "uint other() { return ballotThreadNV(3); }\n"
        "uint gone() { return gl_ThreadInWarpNV; }\n"
    )
    found = errors(source)
    assert found[0][0] == 12
    assert "'gl_ThreadInWarpNV' : undeclared identifier" in found[0][1]


def test_the_extension_may_be_enabled_again() -> None:
    source = (
        f"#version 430\n#extension {EXTENSION} : enable\n#extension {EXTENSION} : disable\n"
        f"#extension {EXTENSION} : require\nlayout(local_size_x = 8) in;\n"
        "buffer Found { uint found[]; };\nvoid main() { found[0] = activeThreadsNV(); }\n"
    )
    assert compile_source(source, stage="compute", dialect="gl").reflection.binding("Found").written


@pytest.mark.parametrize(
    "condition", [f"#ifdef {EXTENSION}", f"#if defined({EXTENSION})", f"#if {EXTENSION} == 1"]
)
def test_the_macro_is_defined_before_the_extension_is_enabled(condition: str) -> None:
    source = source_of(use_of("gl_WarpSizeNV")).replace(
        f"#extension {EXTENSION} : require\n",
        f"{condition}\n#extension {EXTENSION} : require\n#else\n#error not there\n#endif\n",
    )
    assert EXTENSION in source_extensions(compile_source(source, stage="compute", dialect="gl"))


def test_a_directive_that_is_left_out_leaves_no_mark() -> None:
    source = source_of("").replace(
        f"#extension {EXTENSION} : require", f"#if 0\n#extension {EXTENSION} : require\n#endif"
    )
    assert EXTENSION not in source_extensions(compile_source(source, stage="compute", dialect="gl"))


def test_a_directive_in_a_comment_is_none() -> None:
    source = source_of("").replace("#extension", "/*\n#extension").replace("require", "require */")
    assert EXTENSION not in source_extensions(compile_source(source, stage="compute", dialect="gl"))


def test_the_mark_outlives_the_optimiser() -> None:
    module = compiled(use_of("activeThreadsNV"))
    for level in ("performance", "size"):
        assert EXTENSION in source_extensions(optimize(module, level))


def test_vulkan_glsl_has_no_such_extension() -> None:
    source = source_of(use_of("gl_ThreadInWarpNV"))
    assert errors(source, dialect="vulkan")[0][0] == 2


@pytest.mark.parametrize(
    "statement",
    [
        "{name} = 1u;",
        "{name}++;",
        "{name} += 2u;",
        "take({name});",
    ],
)
@pytest.mark.parametrize("name", [name for name in COMMON if name.startswith("gl_")])
def test_variables_are_read_only(name: str, statement: str) -> None:
    found = errors(source_of(statement.format(name=name)))
    assert {line for line, _ in found} == {7}
    assert any("l-value" in message.lower() and f"({name} is built in" in message for _, message in found)


def test_helper_threads_are_bools_and_read_only() -> None:
    assert compiled("if (gl_HelperThreadNV) found[0] = 1u;", stage="fragment")
    assert errors(source_of("gl_HelperThreadNV = true;", stage="fragment"), "fragment")[0][0] == 7
    assert errors(source_of("uint x = gl_HelperThreadNV;", stage="fragment"), "fragment")[0][0] == 7


def test_variables_are_unsigned() -> None:
    assert errors(source_of("int x = gl_ThreadInWarpNV;"))[0][0] == 7
    assert errors(source_of("ballotThreadNV(1u);"))[0] == (
        7,
        "'ballotThreadNV' : no matching overloaded function found",
    )


def test_variables_cannot_be_redeclared() -> None:
    source = source_of("").replace("void take", "uint gl_ThreadInWarpNV; void take")
    found = errors(source)
    assert found[0][0] == 5
    assert "gl_ThreadInWarpNV is built in" in found[0][1]


def test_functions_can_be_overloaded_but_not_redefined() -> None:
    overload = "uint activeThreadsNV(uint mask) { return mask & activeThreadsNV(); } void take"
    assert compile_source(
        source_of("found[0] = activeThreadsNV(3u);").replace("void take", overload),
        stage="compute",
        dialect="gl",
    )
    again = "uint activeThreadsNV() { return 1u; } void take"
    assert errors(source_of("").replace("void take", again))[0][0] == 5


def test_lines_keep_their_numbers() -> None:
    source = source_of("first_wrong;\nsecond_wrong;\n#line 100\nthird_wrong;")
    assert [line for line, _ in errors(source)] == [7, 8, 100]


def test_lines_keep_their_numbers_behind_a_line_directive() -> None:
    source = f"#version 430\n#line 50\n#extension {EXTENSION} : require\nwrong\n"
    assert errors(source)[0][0] in (51, 52)
    both = source_of("wrong;").replace("void main", f"#extension {EXTENSION} : warn\nvoid main")
    assert errors(both)[0][0] == 8


def test_a_comment_may_follow_the_version() -> None:
    source = source_of(use_of("gl_ThreadInWarpNV")).replace("430", "430 /* core,\n   once */", 1)
    assert compile_source(source, stage="compute", dialect="gl")
    wrong = source.replace("uint(taken)", "wrong")
    assert places(diagnostics_of(lambda: compile_source(wrong, stage="compute", dialect="gl")))[0] == (
        "<string>",
        8,
    )


def test_names_of_khr_shader_subgroup_do_not_come_along() -> None:
    assert errors(source_of("found[0] = gl_SubgroupSize;"))[0][0] == 7


@pytest.mark.parametrize(
    ("category", "body"),
    [
        ("basic", "found[0] = gl_SubgroupSize;"),
        ("ballot", "found[0] = gl_SubgroupSize + subgroupBallot(true).x;"),
        ("vote", "found[0] = gl_SubgroupSize + uint(subgroupAll(true));"),
    ],
)
def test_what_the_source_enables_itself_stays(category: str, body: str) -> None:
    own = f"#extension GL_KHR_shader_subgroup_{category} : require\n"
    for before, after in (("#version 430\n", "#version 430\n" + own), ("layout(local", own + "layout(local")):
        assert compile_source(source_of(body).replace(before, after, 1), stage="compute", dialect="gl")


def test_several_shaders_of_a_stage_may_have_the_extension() -> None:
    first = source_of("found[0] = gl_ThreadInWarpNV + other(); quadSwizzle0NV(1.0);", stage="fragment")
    first = first.replace("void main", "uint other();\nvoid main")
    second = (
        f"#version 430\n#extension {EXTENSION} : enable\n"
        "uint other() { return gl_HelperThreadNV ? uint(quadSwizzleXNV(2.0)) : gl_ThreadEqMaskNV; }\n"
    )
    module = link([(first, "fragment", "first"), (second, "fragment", "second")])["fragment"]
    assert EXTENSION in source_extensions(module)
    assert "GroupNonUniformQuad" in module.reflection.capabilities


def test_masks_are_no_numbers_of_low_precision() -> None:
    """gl_SubgroupInvocationID is mediump, and a mask made of it directly could be one of 16 bits."""
    text = disassemble(compiled("found[0] = gl_ThreadGeMaskNV; found[1] = 1u << gl_ThreadInWarpNV;"))
    relaxed = set(re.findall(r"OpDecorate (%\w+) RelaxedPrecision", text))
    shifts = set(re.findall(r"(%\w+) = OpShiftLeftLogical", text))
    assert len(shifts) == 2
    assert not shifts & relaxed


def test_the_sum_of_a_swizzle_is_not_contracted() -> None:
    module = compiled("float x = 3.0; found[0] = uint(quadSwizzle0NV(x, x * x));", stage="fragment")
    text = disassemble(module)
    (total,) = re.findall(r"(%\w+) = OpFAdd", text)
    assert re.search(rf"OpDecorate {total} NoContraction", text)
