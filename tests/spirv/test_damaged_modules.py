"""Modules with bytes changed, cut and swapped: read, or refused with InvalidModule."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vkgroup.base.errors import InvalidModule
from vkgroup.compiler import TargetEnvironment, assemble, compile_source, disassemble, validate
from vkgroup.spirv import Module

SOURCES = (
    """#version 460
    #extension GL_KHR_shader_subgroup_arithmetic : require
    #extension GL_KHR_shader_subgroup_ballot : require
    struct Inner { vec3 p; mat3x2 m; };
    layout(constant_id = 3) const uint N = 4;
    layout(local_size_x_id = 1, local_size_y = 2) in;
    layout(binding = 0) buffer B { uint n; Inner inner[2]; uint v[]; } b;
    layout(binding = 1) uniform sampler2D t[3];
    layout(binding = 2, rgba32f) uniform image2D i;
    layout(push_constant) uniform P { vec4 a; double d; } p;
    shared vec3 s[N * 2];
    void main() {
        s[0] = b.inner[1].p;
        b.v[gl_GlobalInvocationID.x] = subgroupAdd(b.n) + subgroupBroadcast(b.n, 1);
        imageStore(i, ivec2(0), texture(t[1], vec2(0)) + p.a);
    }
    """,
    """#version 460
    layout(local_size_x = 64) in;
    layout(set = 1, binding = 0) readonly buffer A { float v[]; };
    layout(set = 1, binding = 1) writeonly buffer C { float w[]; };
    void main() { w[gl_LocalInvocationIndex] = v[gl_LocalInvocationIndex]; }
    """,
)

MODULES = tuple(
    compile_source(source, stage="compute", debug=debug, target=target)
    for source in SOURCES
    for debug in (False, True)
    for target in (TargetEnvironment.VULKAN_1_0, TargetEnvironment.VULKAN_1_3)
    if "subgroup" not in source or target is not TargetEnvironment.VULKAN_1_0
)


def look_at_everything(data: bytes) -> None:
    """Read all that can be read; InvalidModule is the only way to refuse."""
    try:
        module = Module.from_bytes(data)
    except InvalidModule:
        return
    for look in (lambda: module.instructions, lambda: module.debug_source, lambda: resolve(module)):
        with suppress(InvalidModule):
            look()
    for use in (validate, disassemble):
        with suppress(InvalidModule):
            use(module)


def resolve(module: Module) -> None:
    reflection = module.reflection
    for entry in reflection.entry_points:
        if entry.local_size is not None:
            entry.local_size.resolve({1: 3})
    for binding in reflection.bindings:
        assert isinstance(binding.type.glsl, str)
        assert binding.type.size is None or binding.type.size >= 0


modules = st.sampled_from(MODULES)


@settings(max_examples=400, deadline=None)
@given(module=modules, data=st.data())
def test_changed_words(module: Module, data: st.DataObject) -> None:
    words = module.words.copy()
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(words) - 1))
        small = st.integers(0, int(words[3]) + 1)
        words[place] = data.draw(st.one_of(small, st.integers(0, 2**32 - 1)))
    look_at_everything(words.tobytes())


@settings(max_examples=200, deadline=None)
@given(module=modules, data=st.data())
def test_changed_opcodes_and_lengths(module: Module, data: st.DataObject) -> None:
    words = module.words.copy()
    start = int(data.draw(st.sampled_from(module.instruction_starts.tolist())))
    opcode = data.draw(st.integers(0, 500))
    length = data.draw(st.integers(0, 12)) if data.draw(st.booleans()) else int(words[start]) >> 16
    words[start] = length << 16 | opcode
    look_at_everything(words.tobytes())


@settings(max_examples=200, deadline=None)
@given(module=modules, data=st.data())
def test_instructions_removed_repeated_and_moved(module: Module, data: st.DataObject) -> None:
    starts = [*module.instruction_starts.tolist(), len(module.words)]
    pieces = [module.words[a:b] for a, b in pairwise(starts)]
    order = data.draw(
        st.one_of(
            st.permutations(range(len(pieces))),
            st.lists(st.integers(0, len(pieces) - 1), max_size=2 * len(pieces)),
        )
    )
    changed = np.concatenate([module.words[:5], *(pieces[index] for index in order)])
    look_at_everything(changed.astype("<u4").tobytes())


@settings(max_examples=200, deadline=None)
@given(module=modules, cut=st.integers(0, 4000), junk=st.binary(max_size=16))
def test_truncated_with_junk(module: Module, cut: int, junk: bytes) -> None:
    look_at_everything(module.to_bytes()[: max(0, len(module.to_bytes()) - cut)] + junk)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400))
def test_random_bytes(data: bytes) -> None:
    look_at_everything(data)
    look_at_everything(MODULES[0].to_bytes()[:20] + data)


@given(module=modules)
def test_swapped_bytes(module: Module) -> None:
    assert Module.from_bytes(module.words.astype(">u4").tobytes()) == module
    look_at_everything(module.words.astype(">u4").tobytes()[:-3])


HEADER = "OpCapability Shader\nOpMemoryModel Logical GLSL450\n"


@pytest.mark.parametrize(
    "text",
    [
        # Each structure holds the one before twice: 2^400 members when unfolded.
        "%s0 = OpTypeFloat 32\n" + "".join(f"%s{i + 1} = OpTypeStruct %s{i} %s{i}\n" for i in range(400)),
        "%u = OpTypeInt 32 0\n%n = OpConstant %u 4000000000\n%s0 = OpTypeFloat 32\n"
        + "".join(f"%s{i + 1} = OpTypeArray %s{i} %n\n" for i in range(3000))
        + "%p = OpTypePointer Workgroup %s3000\n%v = OpVariable %p Workgroup\n",
        "%s0 = OpTypeFloat 32\n"
        + "".join(f"%s{i + 1} = OpTypePointer Function %s{i}\n" for i in range(5000)),
    ],
    ids=["structures", "arrays", "pointers"],
)
def test_deep_types_cost_little(text: str) -> None:
    module = assemble(HEADER + text)
    assert module.reflection.bindings == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%a = OpTypeArray %f %n\n%f = OpTypeFloat 32\n%u = OpTypeInt 32 0\n%n = OpConstant %u 1", "none"),
        ("%f = OpTypeFloat 32\n%v = OpTypeVector %f 4\n%w = OpTypeVector %v 4", "scalar"),
        ("%f = OpTypeFloat 32\n%m = OpTypeMatrix %f 4", "is not a vector"),
        ("%i = OpTypeInt 7 0", "7 bits"),
        ("%f = OpTypeFloat 32\n%n = OpConstant %f 1\n%a = OpTypeArray %f %n", "length"),
        ("%f = OpTypeFloat 32\n%s = OpTypeSampledImage %f", "not of an image"),
    ],
)
def test_wrong_declarations_are_named(text: str, message: str) -> None:
    with pytest.raises(InvalidModule, match=message):
        _ = assemble(HEADER + text).reflection
