"""Instructions that the SPIR-V grammar does not contain, and types without a reference."""

from __future__ import annotations

import numpy as np
import pytest

from vkgroup.base.errors import InvalidModule, Unsupported
from vkgroup.compiler import compile_source
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.values.value import leaves_of
from vkgroup.spirv import Module, OpaqueType

_SUM = """#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer B { uint b[]; };
void main() { b[0] = b[1] + 1u; }
"""


@pytest.mark.parametrize("opcode", [6999, 65000])
def test_an_unknown_opcode_is_unsupported(opcode: int) -> None:
    """The word count stays, so all other instructions stay decodable."""
    module = compile_source(_SUM, stage="compute")
    (addition,) = (entry for entry in module.instructions if entry.name == "OpIAdd")
    words = np.array(module.words, np.uint32)
    words[addition.position] = words[addition.position] & np.uint32(0xFFFF0000) | np.uint32(opcode)
    with pytest.raises(Unsupported, match=f"opcode {opcode}"):
        ExecutableShader(Module.from_bytes(words.tobytes()))


def test_a_terminator_outside_of_a_block_is_invalid() -> None:
    """The validator accepts a module with an instruction that it does not know without reading the rest."""
    module = compile_source(_SUM, stage="compute")
    (label,) = (entry for entry in module.instructions if entry.name == "OpLabel")
    words = np.array(module.words, np.uint32)
    words[label.position] = words[label.position] & np.uint32(0xFFFF0000) | np.uint32(65000)
    with pytest.raises(InvalidModule, match=r"OpReturn at word \d+ is outside of a block"):
        ExecutableShader(Module.from_bytes(words.tobytes()))


def test_a_type_without_a_reference_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="does not support TensorARM"):
        leaves_of(OpaqueType("TensorARM"))


def test_a_function_as_operand_is_unsupported() -> None:
    """As of OpCooperativeMatrixPerElementOpNV."""
    source = _SUM.replace("void main", "uint one() { return 1u; }\nvoid main").replace("+ 1u", "+ one()")
    module = compile_source(source, stage="compute")
    (addition,) = (entry for entry in module.instructions if entry.name == "OpIAdd")
    (call,) = (entry for entry in module.instructions if entry.name == "OpFunctionCall")
    words = np.array(module.words, np.uint32)
    words[addition.position + 4] = call.operands[0]
    with pytest.raises(Unsupported, match="OpIAdd"):
        ExecutableShader(Module.from_bytes(words.tobytes()))


def test_floats_of_four_bits_are_unsupported() -> None:
    """SPV_EXT_float_e2m1."""
    module = compile_source(_SUM, stage="compute")
    words = np.array(module.words, np.uint32)
    bound = int(words[3])
    words[3] = bound + 1
    (start,) = (entry.position for entry in module.instructions if entry.name == "OpTypeVoid")
    four_bits = np.array([4 << 16 | 22, bound, 4, 6], np.uint32)  # OpTypeFloat with an encoding
    changed = Module.from_bytes(np.insert(words, start, four_bits).tobytes())
    with pytest.raises(Unsupported, match="floats of 4 bits"):
        _ = changed.reflection
