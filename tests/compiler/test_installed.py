"""The current glslang in the user's cache: what only it compiles, its errors, and damaged installations."""

from __future__ import annotations

import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from fronts import comparable
from sources import BY_STAGE, COMPUTE, diagnostics_of, places

import vkgroup
from vkgroup.base.errors import CompileError, NotValidated
from vkgroup.compiler import TargetEnvironment, compile_file, compile_source
from vkgroup.compiler.front_ends import compiler_name
from vkgroup.compiler.installed import METADATA, InstalledCompiler, installed_glslang, load

NEW = {
    "GL_EXT_integer_dot_product": "x = dotEXT(i8vec4(1), i8vec4(2));",
    "GL_KHR_shader_subgroup_rotate": "x = int(subgroupRotate(gl_SubgroupInvocationID, 1));",
    "GL_EXT_bfloat16": "bfloat16_t b = bfloat16_t(1.0); x = int(float(b));",
    "GL_EXT_maximal_reconvergence": "x = 1;",
    "GL_NV_cooperative_matrix2": "x = 1;",
}
"""Extensions that glslang 13 lacks, each with a statement."""


def _source(extension: str) -> str:
    more = "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
    if extension == "GL_NV_cooperative_matrix2":
        more += "#extension GL_KHR_cooperative_matrix : require\n"
    body = f"void main() {{ {NEW[extension]} }}"
    return (
        f"#version 460\n{more}#extension {extension} : require\n"
        f"#extension GL_KHR_shader_subgroup_basic : require\n"
        f"layout(local_size_x = 4) in;\nlayout(binding = 0) buffer B {{ int x; }};\n{body}\n"
    )


@pytest.mark.parametrize("extension", NEW)
def test_it_compiles_what_glslang_13_does_not(current_glslang: InstalledCompiler, extension: str) -> None:
    source = _source(extension)
    module = compile_source(source, stage="compute", target=TargetEnvironment.VULKAN_1_3)
    assert module.reflection.entry_points[0].local_size is not None
    with pytest.raises(CompileError, match="vkgroup compilers fetch"):
        compile_source(source, stage="compute", target=TargetEnvironment.VULKAN_1_3, compiler="glslang-13")


def test_rotations_run(current_glslang: InstalledCompiler) -> None:
    source = """#version 460
#extension GL_KHR_shader_subgroup_rotate : require
layout(local_size_x = 16) in;
layout(binding = 0) buffer B { uint x[]; };
void main() { x[gl_LocalInvocationIndex] = subgroupRotate(gl_LocalInvocationIndex, 3u); }
"""
    with vkgroup.open("reference") as device:
        result = device.run(source, 1, {"x": np.zeros(16, np.uint32)}, subgroup_size=16)
    assert np.array_equal(result["x"], (np.arange(16) + 3) % 16)


@pytest.mark.parametrize("stage", BY_STAGE)
def test_it_has_the_interface_of_glslang_13(current_glslang: InstalledCompiler, stage: str) -> None:
    modules = [
        compile_source(BY_STAGE[stage], stage=stage, target=TargetEnvironment.VULKAN_1_2, compiler=compiler)
        for compiler in ("glslang", "glslang-13")
    ]
    assert comparable(modules[0]) == comparable(modules[1])


def test_its_errors_have_columns(current_glslang: InstalledCompiler) -> None:
    source = "#version 460\nvoid main() {\n    uint a = 1u, b = foo(a) + unknown;\n    a = a + ;\n}\n"
    errors = diagnostics_of(lambda: compile_source(source, stage="compute", name="a.comp"))
    assert [(entry.line, entry.column > 0) for entry in errors if entry.line] == [(3, True)] * 3 + [(4, True)]
    assert errors[-1].column == source.splitlines()[3].index(";") + 1


def test_its_errors_in_included_files(current_glslang: InstalledCompiler, tmp_path: Path) -> None:
    (tmp_path / "a.glsl").write_text("\n\nint y = bad;\n")
    main = tmp_path / "main.comp"
    main.write_text('#version 460\n#include "a.glsl"\nvoid main() {}\n')
    errors = diagnostics_of(lambda: compile_file(main))
    assert places(errors)[0] == (str(tmp_path / "a.glsl"), 3)


def test_defines_and_sources_without_version(current_glslang: InstalledCompiler) -> None:
    source = "layout(local_size_x = SIZE) in;\nvoid main() { int a = unknown; }\n"
    errors = diagnostics_of(lambda: compile_source(source, stage="compute", defines={"SIZE": 4}))
    assert {entry.line for entry in errors} == {2}
    assert all(entry.column > 0 for entry in errors)


def test_hlsl_and_gl_use_glslang_13(current_glslang: InstalledCompiler) -> None:
    assert compiler_name("glslang") == current_glslang.name
    for dialect in ("hlsl", "gl"):
        assert compiler_name("glslang", dialect) == compiler_name("glslang-13")
    module = compile_source("[numthreads(4, 1, 1)] void main() {}", stage="compute", dialect="hlsl")
    assert module.reflection.entry_points


def test_modules_of_two_compilers_are_cached_separately(current_glslang: InstalledCompiler) -> None:
    modules = [compile_source(COMPUTE, stage="compute", compiler=c) for c in ("glslang", "glslang-13")]
    again = [compile_source(COMPUTE, stage="compute", compiler=c) for c in ("glslang", "glslang-13")]
    assert [module.to_bytes() for module in modules] == [module.to_bytes() for module in again]
    assert modules[0].to_bytes() != modules[1].to_bytes()


_NEWER = """#version 460
#extension GL_EXT_spirv_intrinsics : require
spirv_instruction(extensions = ["%s"], capabilities = [%d], id = 126) int negated(int x);  // OpSNegate
layout(binding = 0) buffer B { int x; };
void main() { x = negated(x); }
"""


def test_a_capability_that_only_the_newer_validator_has(current_glslang: InstalledCompiler) -> None:
    source = _NEWER % ("SPV_VALVE_mixed_float_dot_product", 6912)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module = compile_source(source, stage="compute", target=TargetEnvironment.VULKAN_1_3)
    assert module.reflection.entry_points


def test_a_capability_that_no_validator_has_is_a_warning(current_glslang: InstalledCompiler) -> None:
    for compiler in ("glslang", "glslang-13"):
        with pytest.warns(NotValidated, match="Invalid capability operand: 61234"):
            compile_source(_NEWER % ("SPV_UNKNOWN", 61234), stage="compute", compiler=compiler)


def test_a_damaged_installation_is_ignored(current_glslang: InstalledCompiler, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(current_glslang.folder, copy)
    assert load(copy) is not None
    library = copy / current_glslang.library.relative_to(current_glslang.folder)
    library.write_bytes(library.read_bytes()[:-1])
    assert load(copy) is None
    (copy / METADATA).write_text("{")
    assert load(copy) is None


def test_the_version_is_that_of_the_library(current_glslang: InstalledCompiler) -> None:
    """The packages' names have another version: that of shaderc."""
    assert current_glslang.version.count(".") == 2
    assert int(current_glslang.version.split(".")[0]) >= 16
    assert installed_glslang() == current_glslang


def test_the_command_lists_the_compilers(current_glslang: InstalledCompiler) -> None:
    command = [sys.executable, "-m", "vkgroup", "compilers", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert current_glslang.name in done.stdout
    assert "glslang 13.1.1" in done.stdout
