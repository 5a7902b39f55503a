"""Reading modules: header, instructions, equality, and refused input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from vkgroup.base.errors import InvalidModule
from vkgroup.compiler import TargetEnvironment, assemble, compile_source
from vkgroup.spirv import Module, grammar, rename_entry_point

MINIMAL = """
    OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main "main"
    OpExecutionMode %main LocalSize 4 2 1
    %void = OpTypeVoid
    %function = OpTypeFunction %void
    %main = OpFunction %void None %function
    %block = OpLabel
    OpReturn
    OpFunctionEnd
"""


ADDING = """#version 450
layout(local_size_x = 4) in;
layout(binding = 0) buffer Numbers { uint numbers[]; };
void main() { numbers[gl_GlobalInvocationID.x] += atomicAdd(numbers[0], 1u); }
"""


@pytest.fixture(scope="module")
def module() -> Module:
    return assemble(MINIMAL)


def test_header(module: Module) -> None:
    assert module.version == (1, 5)
    assert module.words.dtype == np.uint32
    assert module.words[0] == 0x07230203
    assert module.to_bytes() == module.words.tobytes()
    assert assemble(MINIMAL, TargetEnvironment.VULKAN_1_3).version == (1, 6)


def test_words_cannot_be_changed(module: Module) -> None:
    with pytest.raises(ValueError, match="read-only"):
        module.words[0] = 0


def test_instructions_are_decoded_by_the_grammar(module: Module) -> None:
    names = [instruction.name for instruction in module.instructions]
    assert names == [
        "OpCapability",
        "OpMemoryModel",
        "OpEntryPoint",
        "OpExecutionMode",
        "OpTypeVoid",
        "OpTypeFunction",
        "OpFunction",
        "OpLabel",
        "OpReturn",
        "OpFunctionEnd",
    ]
    mode, function = module.instructions[3], module.instructions[6]
    assert mode.operands[1:] == (17, 4, 2, 1)
    assert (mode.result_type, mode.result_id) == (0, 0)
    void = module.instructions[4].result_id
    assert function.result_type == void
    assert function.result_id == mode.operands[0]
    assert module.words[function.position] & 0xFFFF == function.opcode == 54


def test_unknown_instruction_keeps_its_words() -> None:
    data = np.array([0x07230203, 0x10300, 0, 5, 0, 3 << 16 | 0xFFF0, 7, 8], "<u4").tobytes()
    (instruction,) = Module.from_bytes(data).instructions
    assert instruction.name == "Op65520"
    assert instruction.operands == (7, 8)


def test_big_endian_module_reads_the_same(module: Module) -> None:
    swapped = module.words.astype(">u4").tobytes()
    assert swapped != module.to_bytes()
    assert Module.from_bytes(swapped) == module


def test_equality_hash_and_pickle(module: Module) -> None:
    again = Module.from_bytes(bytearray(module.to_bytes()))
    assert again == module
    assert hash(again) == hash(module)
    assert pickle.loads(pickle.dumps(module)) == module
    assert module != assemble(MINIMAL.replace("4 2 1", "4 2 2"))
    assert module != module.to_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", "it is empty"),
        (lambda data: data[:10], "is not a multiple of 4"),
        (lambda data: data[:12], "shorter than the header"),
        (lambda data: b"\x7fELF" + data[4:], "starts with 7f454c46"),
        (lambda data: data[:4] + b"\xff\xff\xff\xff" + data[8:], "version"),
        (lambda data: data[:12] + bytes(4) + data[16:], "bound"),
        (lambda data: data[:12] + b"\xff\xff\xff\xff" + data[16:], "bound"),
        (lambda data: data + bytes(4), "has length 0"),
        (lambda data: data[:20] + b"\x11\x00\xff\xff" + data[24:], "runs past the end"),
    ],
)
def test_what_is_no_module_is_refused(module: Module, change, message: str) -> None:
    with pytest.raises(InvalidModule, match=message):
        Module.from_bytes(change(module.to_bytes()))


def test_short_instruction_is_refused_when_decoded(module: Module) -> None:
    words = module.words.copy()
    start = module.instructions[1].position
    words = np.concatenate([words[: start + 2], words[start + 3 :]])
    words[start] = 2 << 16 | 14
    with pytest.raises(InvalidModule, match="OpMemoryModel"):
        _ = Module.from_bytes(words.tobytes()).instructions


@pytest.mark.parametrize("name", ["a", "abc", "four", "a_rather_long_name_of_an_entry_point"])
def test_rename_entry_point(name: str) -> None:
    module = compile_source("#version 460\nvoid main() {}", stage="vertex")
    renamed = rename_entry_point(module, name)
    assert renamed.reflection.entry_points[0].name == name
    assert renamed.reflection.entry_points[0].interface == module.reflection.entry_points[0].interface
    assert rename_entry_point(renamed, "main") == module


def test_grammar_knows_names_and_numbers() -> None:
    table = grammar()
    assert table.version[:2] >= (1, 6)
    assert table.opcodes["OpGroupNonUniformIAdd"] == 349
    assert table.name(349) == "OpGroupNonUniformIAdd"
    assert table.opcodes["OpGroupNonUniformRotateKHR"] == 4431
    assert table.enumerant("Capability", 63) == "GroupNonUniformArithmetic"
    assert table.enumerant("Capability", 60000) == "Capability60000"
    load = table.instruction(61)
    assert load is not None
    assert (load.has_type, load.has_result, load.minimum_words) == (True, True, 4)
    assert load.operand_index("Pointer") == 3
    assert load.operand_index("Nothing") is None
    assert table.instruction(0xFFF0) is None
    assert table is grammar()


@pytest.mark.parametrize(
    "names", [("OpTypeVoid", "OpReturn"), ("OpStore",), ("OpIAdd", "OpLoad", "OpStore"), ()]
)
def test_instructions_of_some_opcodes_are_those_among_all(module: Module, names: tuple[str, ...]) -> None:
    compiled = compile_source(ADDING, stage="compute")
    for each in (module, compiled):
        found = each.instructions_of(grammar().opcodes[name] for name in names)
        assert found == tuple(entry for entry in each.instructions if entry.name in names)


def test_result_types_are_those_of_the_instructions() -> None:
    compiled = compile_source(ADDING, stage="compute")
    typed = {entry.result_id: entry.result_type for entry in compiled.instructions if entry.result_type}
    assert {result: kind for result, kind in enumerate(compiled.result_types.tolist()) if kind} == typed
    assert len(typed) > 10
