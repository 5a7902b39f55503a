"""Source extensions that a module names."""

from __future__ import annotations

import pytest

from vkgroup.base.errors import InvalidModule
from vkgroup.compiler import assemble, disassemble, validate
from vkgroup.spirv import Module
from vkgroup.spirv.editor import add_source_extension, source_extensions

HEAD = """OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
"""
BODY = """OpName %main "main"
%void = OpTypeVoid
%type = OpTypeFunction %void
%main = OpFunction %void None %type
%label = OpLabel
OpReturn
OpFunctionEnd
"""
OLD = 'OpSource GLSL 430\nOpSourceExtension "GL_first"\n'


@pytest.mark.parametrize(("debug", "before"), [("", set()), (OLD, {"GL_first"})])
def test_an_extension_is_added_in_its_place(debug: str, before: set[str]) -> None:
    module = assemble(HEAD + debug + BODY)
    assert source_extensions(module) == before
    changed = add_source_extension(module, "GL_second")
    assert source_extensions(changed) == before | {"GL_second"}
    validate(changed)
    assert [line for line in disassemble(changed).splitlines() if "GL_second" not in line] == (
        disassemble(module).splitlines()
    )


@pytest.mark.parametrize("name", ["GL", "GL_3", "GL_34", "GL_345", "GL_3456"])
def test_names_of_any_length(name: str) -> None:
    changed = add_source_extension(assemble(HEAD + BODY), name)
    assert source_extensions(changed) == {name}
    validate(changed)


def test_a_module_without_instructions_can_be_read() -> None:
    empty = Module.from_bytes(assemble(HEAD + BODY).to_bytes()[:20])
    assert source_extensions(empty) == set()
    assert source_extensions(add_source_extension(empty, "GL_x")) == {"GL_x"}


def test_a_name_without_end_is_refused() -> None:
    data = add_source_extension(assemble(HEAD + BODY), "GL_345").to_bytes()
    endless = data.replace(b"GL_345\0\0", b"GL_34567")
    with pytest.raises(InvalidModule, match="unterminated string"):
        source_extensions(Module.from_bytes(endless))
