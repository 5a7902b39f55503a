"""Descriptor heaps (VK_EXT_descriptor_heap): modules with them are refused by name, with what to do."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import vkgroup
from vkgroup.base.errors import InvalidModule, Unsupported
from vkgroup.check import check
from vkgroup.cli.main import main
from vkgroup.dispatch.reference.device import ReferenceDevice
from vkgroup.spec.features import STRUCTS
from vkgroup.spec.needs import CAPABILITIES, SPIRV_EXTENSIONS
from vkgroup.spirv import Module
from vkgroup.spirv.grammar import grammar

_HEAPS = 5128  # DescriptorHeapEXT

_SHADER = """#version 460
#extension GL_EXT_descriptor_heap : require
layout(local_size_x = 64) in;
layout(descriptor_heap) buffer Data { uint a[]; } heap[];
void main() { heap[3].a[gl_GlobalInvocationID.x] += 1u; }
"""

#: What a message says: the capability, the extension, and what to do.
_WORDS = ("DescriptorHeapEXT", "SPV_EXT_descriptor_heap", "layout(set = 0, binding = 0)")


def _string(text: str) -> list[int]:
    data = text.encode() + b"\0"
    return list(struct.unpack(f"<{-(-len(data) // 4)}I", data.ljust(-(-len(data) // 4) * 4, b"\0")))


def _module(*capabilities: int) -> Module:
    """Return a compute shader that stores to a buffer of the resource heap, with some capabilities."""
    void, function, uint, buffer, stride, size, pointer, data, heap, main_, label, index, at, three = range(
        1, 15
    )
    instructions = [
        *([17, capability] for capability in (1, 4473, *capabilities)),  # Shader, UntypedPointersKHR
        [10, *_string("SPV_KHR_untyped_pointers")],
        [10, *_string("SPV_EXT_descriptor_heap")],
        [14, 0, 1],  # OpMemoryModel Logical GLSL450
        [15, 5, main_, *_string("main"), heap],
        [16, main_, 17, 1, 1, 1],  # LocalSize
        [71, heap, 11, 5123],  # BuiltIn ResourceHeapEXT
        [332, stride, 5124, size],  # OpDecorateId ArrayStrideIdEXT
        [19, void],
        [33, function, void],
        [21, uint, 32, 0],
        [5115, buffer, 12],  # OpTypeBufferEXT StorageBuffer
        [5129, uint, size, buffer],  # OpConstantSizeOfEXT
        [29, stride, buffer],  # OpTypeRuntimeArray
        [43, uint, three, 3],
        [4417, pointer, 0],  # OpTypeUntypedPointerKHR UniformConstant
        [4417, data, 12],
        [4418, pointer, heap, 0],  # OpUntypedVariableKHR
        [54, void, main_, 0, function],
        [248, label],
        [4419, pointer, index, stride, heap, three],  # OpUntypedAccessChainKHR
        [5119, data, at, index],  # OpBufferPointerEXT
        [62, at, three],
        [253],
        [56],
    ]
    words = [0x07230203, 0x00010600, 0, 15, 0]
    for opcode, *operands in instructions:
        words += [(len(operands) + 1) << 16 | opcode, *operands]
    return Module.from_bytes(struct.pack(f"<{len(words)}I", *words))


@pytest.fixture
def spirv(tmp_path: Path) -> Path:
    """A file with the module."""
    path = tmp_path / "heap.spv"
    path.write_bytes(_module(_HEAPS).to_bytes())
    return path


def test_the_api_refuses_the_module_by_name(spirv: Path) -> None:
    module = _module(_HEAPS)
    with pytest.raises(Unsupported) as refused:
        _ = module.reflection
    assert refused.value.missing == ("descriptorHeap",)
    assert all(word in str(refused.value) for word in _WORDS)
    with ReferenceDevice(4) as device, pytest.raises(Unsupported, match="DescriptorHeapEXT"):
        device.pipeline(module)
    with pytest.raises(Unsupported, match="DescriptorHeapEXT"):
        check(spirv)
    # The capability is what the refusal rests on: without it, the module is not valid.
    with pytest.raises(InvalidModule):
        _ = _module().reflection


@pytest.mark.parametrize("device", ["reference", "swiftshader"])
def test_devices_refuse_the_module(device: str, request: pytest.FixtureRequest) -> None:
    if device != "reference":
        request.getfixturevalue(device)
    with vkgroup.open(device) as opened, pytest.raises(Unsupported, match="DescriptorHeapEXT"):
        opened.run(_module(_HEAPS), (1, 1, 1), {})


@pytest.mark.parametrize(
    "command",
    [
        ("check", "F"),
        ("check", "F", "--device", "none"),
        ("run", "F", "--groups", "1", "--device", "reference"),
        ("equal", "F", "F"),
    ],
    ids=" ".join,
)
def test_commands_end_with_the_exit_code_of_what_is_not_supported(
    command: tuple[str, ...], spirv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(spirv) if word == "F" else word for word in command]) == 3
    _, err = capsys.readouterr()
    assert all(word in " ".join(err.split()) for word in _WORDS)
    assert "Traceback" not in err


@pytest.mark.usefixtures("tint")  # for the current glslang beside it, which compiles heaps
def test_a_source_compiles_and_is_not_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, compiled = tmp_path / "heap.comp", tmp_path / "heap.spv"
    source.write_text(_SHADER)
    assert main(["compile", str(source), "-o", str(compiled)]) == 0
    out, _ = capsys.readouterr()
    assert "DescriptorHeapEXT" in out
    assert _HEAPS.to_bytes(4, "little") in compiled.read_bytes()
    for path in (source, compiled):
        assert main(["check", str(path)]) == 3
        assert "DescriptorHeapEXT" in capsys.readouterr().err


def test_names_of_the_extension_are_known() -> None:
    assert grammar().enumerant("Capability", _HEAPS) == "DescriptorHeapEXT"
    assert grammar().enumerant("BuiltIn", 5123) == "ResourceHeapEXT"
    assert (
        CAPABILITIES["DescriptorHeapEXT"] == SPIRV_EXTENSIONS["SPV_EXT_descriptor_heap"] == "descriptorHeap"
    )
    (struct_,) = (each for each in STRUCTS if "descriptorHeap" in (each.fields or ()))
    assert struct_.extension == "VK_EXT_descriptor_heap"
    assert struct_.structure_type == 1_000_135_009  # extension 136, enumerant 9
