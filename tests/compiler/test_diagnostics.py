"""Diagnostics of GLSL that does not compile, the same from both fronts."""

from __future__ import annotations

import pytest
from sources import diagnostics_of, places

from vkgroup.base.errors import Diagnostic
from vkgroup.compiler import compile_source
from vkgroup.compiler.request import from_glslang, from_shaderc

WRONG = {
    "undeclared": ("#version 460\nvoid main() {\n  a;\n  b;\n}\n", [3, 4], "'a' : undeclared identifier"),
    "syntax": ("#version 460\nvoid main() {\n  int = 3;\n}\n", [3], "syntax error"),
    "directive": ("#version 460\n#error told you so\nvoid main() {}\n", [2], "told you so"),
    "line": ("#version 460\nvoid main() {\n#line 100\n  a;\n}\n", [100], "'a' : undeclared identifier"),
    "no main": ("#version 460\nvoid other() {}\n", [0], "Missing entry point"),
    "no body": (
        "#version 460\nvoid f();\nvoid main() { f(); }\n",
        [0],
        "No function definition (body) found: f(",
    ),
    "unended": ("#version 460\nvoid main() {", [2], "syntax error, unexpected end of file"),
    "extension": (
        "#version 460\nvoid main() { subgroupAdd(1); }\n",
        [2],
        "GL_KHR_shader_subgroup_arithmetic",
    ),
}


@pytest.mark.parametrize("compiler", ["glslang", "shaderc"])
@pytest.mark.parametrize("case", WRONG)
def test_line_and_message(case: str, compiler: str, glslc: object) -> None:
    source, lines, message = WRONG[case]
    found = diagnostics_of(lambda: compile_source(source, stage="compute", name="a.comp", compiler=compiler))
    reported = [line for file, line in places(found) if file == "a.comp"]
    assert [line for line in lines if line in reported] == lines
    assert any(message in diagnostic.message for diagnostic in found)


@pytest.mark.parametrize("case", WRONG)
def test_both_fronts_agree(case: str, glslc: object) -> None:
    source = WRONG[case][0]
    first, second = (
        diagnostics_of(lambda compiler=compiler: compile_source(source, stage="compute", compiler=compiler))  # type: ignore[misc]
        for compiler in ("glslang", "shaderc")
    )
    assert places(first)[0] == places(second)[0]
    assert first[0].severity == second[0].severity == "error"


def test_error_reads_as_a_compiler_writes() -> None:
    found = diagnostics_of(lambda: compile_source("void main() { x; }", stage="compute", name="s.comp"))
    assert str(found[0]) == "s.comp:1: error: 'x' : undeclared identifier"


def test_log_of_glslang() -> None:
    log = (
        "WARNING: 0:3: 'old' : deprecated\n"
        "ERROR: 0:5: '' : compilation terminated \n"
        "ERROR: C:\\shaders\\a.glsl:12: 'x' : bad: 7:8: really\n"
        "ERROR: 2:9: 'y' : numbered string\n"
        "ERROR: Linking compute stage: No function definition (body) found: \n"
        "    f(\n"
        "ERROR: 2 compilation errors.  No code generated.\n\n\n"
    )
    assert from_glslang(log, "m.comp") == [
        Diagnostic("warning", "m.comp", 3, 0, "'old' : deprecated"),
        Diagnostic("error", "m.comp", 5, 0, "compilation terminated"),
        Diagnostic("error", "C:\\shaders\\a.glsl", 12, 0, "'x' : bad: 7:8: really"),
        Diagnostic("error", "m.comp", 9, 0, "'y' : numbered string"),
        Diagnostic("error", "m.comp", 0, 0, "Linking compute stage: No function definition (body) found: f("),
    ]


def test_log_of_shaderc() -> None:
    log = (
        "<stdin>:2: error: 'a' : undeclared identifier\n"
        "inc/b.glsl:3:7: warning: odd\n"
        "<stdin>: error: 'mesh shaders' : required extension not requested: Possible extensions include:\n"
        "<stdin>: GL_NV\n"
        "glslc: error: unknown argument\n"
        "2 errors generated.\n"
        "1 warning and 2 errors generated.\n"
    )
    names = {"<stdin>": "m.comp"}
    assert from_shaderc(log, lambda file: names.get(file, file)) == [
        Diagnostic("error", "m.comp", 2, 0, "'a' : undeclared identifier"),
        Diagnostic("warning", "inc/b.glsl", 3, 7, "odd"),
        Diagnostic(
            "error",
            "m.comp",
            0,
            0,
            "'mesh shaders' : required extension not requested: Possible extensions include: GL_NV",
        ),
        Diagnostic("error", "glslc", 0, 0, "unknown argument"),
    ]


@pytest.mark.parametrize(
    ("stage", "source"),
    [
        ("compute", "uniform float scale;\nvoid main() { scale; }"),
        ("compute", "layout(binding = 0) uniform atomic_uint count;\nvoid main() {}"),
        ("compute", "buffer Data { uint data[]; };\nvoid main() {}"),
        ("compute", "#extension GL_NV_shader_thread_group : require\nvoid main() {}"),
        ("vertex", "in vec4 at;\nvoid main() { gl_Position = at; }"),
        ("vertex", "void main() { gl_Position = vec4(gl_VertexID); }"),
    ],
)
def test_the_gl_dialect_is_named_once_where_it_is_missed(stage: str, source: str) -> None:
    size = "layout(local_size_x = 1) in;" if stage == "compute" else ""
    text = f"#version 430\n{source}\n{size}"
    found = diagnostics_of(lambda: compile_source(text, stage=stage))
    assert ["--dialect gl" in entry.message for entry in found].count(True) == 1
    assert compile_source(text, stage=stage, dialect="gl").reflection.entry_points[0].stage == stage


def test_the_gl_dialect_is_not_named_elsewhere() -> None:
    found = diagnostics_of(lambda: compile_source("#version 430\nvoid main() { x; }", stage="compute"))
    assert not any("--dialect" in entry.message for entry in found)
