"""Directives of GL_NV_shader_thread_group: which ones are replaced, with lines and macros unchanged."""

from __future__ import annotations

import pytest

from vkgroup.base.errors import CompileError
from vkgroup.compiler import compile_source, interface_of
from vkgroup.compiler.thread_group import EXTENSION
from vkgroup.spirv.editor import source_extensions

BODY = "layout(local_size_x = 1) in;\nshared uint s;\nvoid main() { s = gl_WarpSizeNV; }\n"


@pytest.mark.parametrize("behaviour", ["require", "enable", "warn"])
def test_directive_is_replaced(behaviour: str) -> None:
    source = f"#version 430 core\n// about it\n  #  extension {EXTENSION} :{behaviour} // why\n{BODY}"
    module = compile_source(source, stage="compute", dialect="gl", defines={"A": 3})
    assert interface_of(module) is not None
    assert EXTENSION in source_extensions(module)


def test_disabled_extension_has_no_names() -> None:
    source = f"#version 430\n#extension {EXTENSION} : disable\n{BODY}"
    with pytest.raises(CompileError, match="gl_WarpSizeNV"):
        compile_source(source, stage="compute", dialect="gl", cache=False)


@pytest.mark.parametrize("version", [330, 430])
def test_lines_keep_their_numbers(version: int) -> None:
    source = (
        f"#version {version}\n\n#extension {EXTENSION} : disable\n\nout vec4 c;\nvoid main() {{ c = bad; }}\n"
    )
    with pytest.raises(CompileError) as caught:
        compile_source(source, stage="fragment", dialect="gl", cache=False)
    assert caught.value.diagnostics[0].line == 6


@pytest.mark.parametrize(
    "line",
    ["// #extension {} : require", "/* #extension {} : require */", "/*\n#extension {} : require\n*/"],
)
def test_comments_hold_no_directives(line: str) -> None:
    source = f"#version 430\n{line.format(EXTENSION)}\n{BODY}"
    with pytest.raises(CompileError):
        compile_source(source, stage="compute", dialect="gl", cache=False)


def test_macro_of_the_extension_is_defined() -> None:
    source = (
        f"#version 430\n#if defined({EXTENSION}) && {EXTENSION} == 1\n#extension {EXTENSION} : enable\n"
        f"#else\n#error none\n#endif\n{BODY}"
    )
    assert EXTENSION in source_extensions(compile_source(source, stage="compute", dialect="gl", cache=False))


def test_other_dialects_and_extensions_are_left_alone() -> None:
    source = "#version 430\n#extension GL_KHR_shader_subgroup_basic : require\n"
    source += "layout(local_size_x = 1) in;\nvoid main() { subgroupBarrier(); }"
    assert EXTENSION not in source_extensions(
        compile_source(source, stage="compute", dialect="gl", cache=False)
    )
    with pytest.raises(CompileError):
        compile_source(
            f"#version 460\n#extension {EXTENSION} : require\n{BODY}", stage="compute", cache=False
        )
