"""`set_local_size`: shaders without a local size get one; others are refused."""

from __future__ import annotations

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.compiler import TargetEnvironment, assemble, compile_source, disassemble, validate
from vkgroup.spirv import Module, set_local_size

_EMPTY = "layout(binding = 0) buffer B { uint b[]; }; void main() { b[gl_LocalInvocationIndex] = 1u; }"


def _glsl(text: str, target: TargetEnvironment = TargetEnvironment.VULKAN_1_1) -> Module:
    return compile_source(f"#version 450\n{text}", stage="compute", target=target)


def _size(module: Module) -> tuple[int, int, int]:
    size = module.reflection.entry_point().local_size
    assert size is not None
    return size.resolve()


@pytest.mark.parametrize("target", [TargetEnvironment.VULKAN_1_1, TargetEnvironment.VULKAN_1_4])
@pytest.mark.parametrize(
    ("given", "size"), [((64,), (64, 1, 1)), ((8, 4), (8, 4, 1)), ([1, 2, 3], (1, 2, 3)), ((1,), (1, 1, 1))]
)
def test_a_shader_without_a_local_size_gets_one(
    target: TargetEnvironment, given: tuple[int, ...], size: tuple[int, int, int]
) -> None:
    module = set_local_size(_glsl(_EMPTY, target), given)
    validate(module, target)
    assert _size(module) == size


def test_a_local_size_by_ids_is_replaced() -> None:
    text = disassemble(_glsl(_EMPTY, TargetEnvironment.VULKAN_1_4), friendly_names=False)
    one = next(line.split()[0] for line in text.split("\n") if "OpConstant %" in line and line.endswith(" 1"))
    entry = next(line.split()[2] for line in text.split("\n") if "OpEntryPoint" in line)
    mode = f"OpExecutionMode {entry} LocalSize 1 1 1"
    assert mode in text
    by_ids = text.replace(mode, f"OpExecutionModeId {entry} LocalSizeId {one} {one} {one}")
    module = set_local_size(assemble(by_ids, TargetEnvironment.VULKAN_1_4), (16, 2))
    validate(module, TargetEnvironment.VULKAN_1_4)
    assert _size(module) == (16, 2, 1)


def test_the_declared_size_may_be_given() -> None:
    module = _glsl("layout(local_size_x = 8) in;" + _EMPTY)
    assert set_local_size(module, (8,)) is module


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("layout(local_size_x = 8, local_size_y = 2) in;", "declares the local size 8×2×1"),
        ("layout(local_size_x = 1) in; uint n = gl_WorkGroupSize.x;", "declares the local size 1×1×1"),
        ("layout(local_size_x_id = 3) in;", "instead of a local size: --spec 3=64$"),
        ("layout(local_size_x_id = 3, local_size_y_id = 5) in;", "local size: --spec 3=64 --spec 5=1$"),
    ],
)
def test_a_shader_with_a_local_size_is_refused(layout: str, message: str) -> None:
    body = _EMPTY.replace("= 1u", "= n") if "uint n" in layout else _EMPTY
    with pytest.raises(InvalidInput, match=message):
        set_local_size(_glsl(layout + body), (64,))


@pytest.mark.parametrize("size", [(), (0,), (1, 2, 3, 4), (1 << 32,)])
def test_sizes_that_make_no_sense_are_refused(size: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="one to three positive numbers"):
        set_local_size(_glsl(_EMPTY), size)


def test_only_compute_shaders_have_a_local_size() -> None:
    module = compile_source("void main() {}", stage="fragment")
    with pytest.raises(InvalidInput, match="fragment shader"):
        set_local_size(module, (4,))
