"""Rewriters of extensions: which directives they see, and that lines and macros stay what they were."""

from __future__ import annotations

import pytest

from vkgroup.compiler import compile_source, extensions, interface_of
from vkgroup.compiler.extensions import Use, replace_directive
from vkgroup.errors import CompileError

NAME = "GL_EXAMPLE_answer"


@pytest.fixture
def uses(monkeypatch: pytest.MonkeyPatch) -> list[Use]:
    """Register a rewriter that brings a function; return the directives that it has seen."""
    seen: list[Use] = []

    def rewriter(use: Use) -> str:
        seen.append(use)
        text = "uint answerEXAMPLE() { return 42u; }" if use.behavior != "disable" else ""
        return replace_directive(use, text)

    monkeypatch.setitem(extensions.REWRITERS, NAME, rewriter)
    return seen


BODY = "layout(local_size_x = 1) in;\nshared uint s;\nvoid main() { s = answerEXAMPLE(); }\n"


@pytest.mark.parametrize("behaviour", ["require", "enable", "warn"])
def test_directive_is_replaced(behaviour: str, uses: list[Use]) -> None:
    source = f"#version 430 core\n// about it\n  #  extension {NAME} :{behaviour} // why\n{BODY}"
    module = compile_source(source, stage="compute", dialect="gl", defines={"A": 3})
    assert interface_of(module) is not None
    (use,) = uses
    assert (use.name, use.behavior, use.line, use.stage, use.version) == (NAME, behaviour, 3, "compute", 430)
    assert use.defines == {"A": "3"}


@pytest.mark.parametrize("version", [330, 430])
def test_lines_keep_their_numbers(version: int, uses: list[Use]) -> None:
    source = f"#version {version}\n\n#extension {NAME} : require\n\nout vec4 c;\nvoid main() {{ c = bad; }}\n"
    with pytest.raises(CompileError) as caught:
        compile_source(source, stage="fragment", dialect="gl", cache=False)
    assert caught.value.diagnostics[0].line == 6
    assert len(uses) == 1


@pytest.mark.parametrize(
    "line",
    ["// #extension {} : require", "/* #extension {} : require */", "/*\n#extension {} : require\n*/"],
)
def test_comments_hold_no_directives(line: str, uses: list[Use]) -> None:
    source = f"#version 430\n{line.format(NAME)}\n{BODY}"
    with pytest.raises(CompileError, match="answerEXAMPLE"):
        compile_source(source, stage="compute", dialect="gl", cache=False)
    assert not uses


def test_macro_of_the_extension_is_defined(uses: list[Use]) -> None:
    source = (
        f"#version 430\n#if defined({NAME}) && {NAME} == 1\n#extension {NAME} : enable\n"
        f"#else\n#error none\n#endif\n{BODY}"
    )
    compile_source(source, stage="compute", dialect="gl", cache=False)
    assert len(uses) == 1


def test_other_dialects_and_extensions_are_left_alone(uses: list[Use]) -> None:
    source = "#version 430\n#extension GL_KHR_shader_subgroup_basic : require\n"
    source += "layout(local_size_x = 1) in;\nvoid main() { subgroupBarrier(); }"
    compile_source(source, stage="compute", dialect="gl", cache=False)
    with pytest.raises(CompileError):
        compile_source(f"#version 460\n#extension {NAME} : require\n{BODY}", stage="compute", cache=False)
    assert not uses
