"""Loads and stores: layouts, dynamic indices, small types, shared memory, push constants, addresses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from interpreting import interpret, kinds, program

from vkgroup.compiler import TargetEnvironment, assemble, disassemble
from vkgroup.reference.interpreter import ExecutableShader, Memory, execute

LAYOUTS = """
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 4) in;
struct Part {{ vec3 normal; float weight; int counts[3]; mat2x3 turn; }};
layout({layout}, binding = 0) buffer Data {{
    uint first; Part parts[4]; layout(row_major) mat3x2 back[4]; dvec2 last;
}};
void main() {{
    uint i = gl_LocalInvocationIndex;
    Part p = parts[i];
    p.normal.y += p.weight;
    p.counts[(i + 1u) % 3u] += int(i) + 10;
    p.turn[i & 1u][i % 3u] = 7.0;
    p.turn = p.turn * 2.0;
    mat3x2 b = back[i];
    b[2][1] -= 1.0;
    parts[3u - i].normal.x += 0.0;
    barrier();
    parts[i].normal = p.normal;
    parts[i].counts = p.counts;
    parts[i].turn = p.turn;
    back[i] = b;
    if (i == 0u) last[1] = 2.5LF;
}}
"""


def whole_type(layout: str) -> np.dtype:
    """The block by the rules of GLSL 4.60, 7.6.2.2, and of GL_EXT_scalar_block_layout."""
    if layout == "scalar":
        offsets, stride, array, size = (0, 12, 16, 28), 12, 4, 52
    elif layout == "std430":
        offsets, stride, array, size = (0, 12, 16, 32), 16, 4, 64
    else:
        offsets, stride, array, size = (0, 12, 16, 64), 16, 16, 96
    counts = np.dtype({"names": ["n"], "formats": ["<i4"], "itemsize": array})
    column = np.dtype({"names": ["v"], "formats": [("<f4", 3)], "itemsize": stride})
    part = np.dtype(
        {
            "names": ["normal", "weight", "counts", "turn"],
            "formats": [("<f4", 3), "<f4", (counts, 3), (column, 2)],
            "offsets": offsets,
            "itemsize": size,
        }
    )
    start = 4 if layout == "scalar" else 16
    back = start + 4 * size
    last = back + 4 * 2 * stride
    last = -(-last // 8) * 8 if layout == "scalar" else last
    return np.dtype(
        {
            "names": ["first", "parts", "back", "last"],
            "formats": ["<u4", (part, 4), (column, (4, 2)), ("<f8", 2)],
            "offsets": [0, start, back, last],
            "itemsize": last + 16,
        }
    )


@pytest.mark.parametrize("layout", ["std140", "std430", "scalar"])
def test_structures_in_every_layout(layout: str) -> None:
    whole = whole_type(layout)
    raw = np.random.default_rng(2).integers(0, 50, whole.itemsize).astype(np.uint8)
    data = raw.view(whole)
    parts = data["parts"][0]
    rng = np.random.default_rng(4)
    parts["normal"] = rng.integers(0, 9, (4, 3))
    parts["weight"] = rng.integers(0, 9, 4)
    parts["counts"]["n"] = rng.integers(0, 9, (4, 3))
    parts["turn"]["v"] = rng.integers(0, 9, (4, 2, 3))
    data["back"]["v"] = rng.integers(0, 9, (1, 4, 2, 3))
    expected = raw.copy().view(whole)
    wanted = expected["parts"][0]
    for i in range(4):
        wanted["normal"][i, 1] += wanted["weight"][i]
        wanted["counts"]["n"][i, (i + 1) % 3] += i + 10
        wanted["turn"]["v"][i, i & 1, i % 3] = 7
        wanted["turn"]["v"][i] *= 2
        # mat3x2 has three columns of two; row-major memory holds two rows of three.
        expected["back"]["v"][0, i, 1, 2] -= 1
    expected["last"][0, 1] = 2.5
    outcome = interpret(LAYOUTS.format(layout=layout), 1, raw)
    assert outcome.events == ()
    for name in ("normal", "weight"):
        np.testing.assert_array_equal(data["parts"][0][name], wanted[name], err_msg=name)
    np.testing.assert_array_equal(data["parts"][0]["counts"]["n"], wanted["counts"]["n"])
    np.testing.assert_array_equal(parts["turn"]["v"], wanted["turn"]["v"])
    np.testing.assert_array_equal(data["back"]["v"], expected["back"]["v"])
    np.testing.assert_array_equal(data["last"], expected["last"])


@pytest.mark.parametrize(
    ("glsl", "dtype"),
    [
        ("int8_t", np.int8),
        ("uint8_t", np.uint8),
        ("int16_t", np.int16),
        ("uint16_t", np.uint16),
        ("float16_t", np.float16),
        ("int64_t", np.int64),
        ("uint64_t", np.uint64),
        ("double", np.float64),
    ],
)
def test_small_and_wide_types(glsl: str, dtype: type) -> None:
    source = f"""
    #extension GL_EXT_shader_explicit_arithmetic_types : require
    #extension GL_EXT_shader_8bit_storage : require
    #extension GL_EXT_shader_16bit_storage : require
    layout(local_size_x = 32) in;
    layout(std430, binding = 0) buffer Data {{ {glsl} data[]; }};
    layout(std430, binding = 1) buffer Sums {{ {glsl} sums[]; }};
    void main() {{
        uint i = gl_GlobalInvocationID.x;
        sums[i] = data[i] + data[i ^ 1u] * {glsl}(3);
    }}
    """
    data = np.random.default_rng(7).integers(-20, 20, 96).astype(dtype)
    sums = np.zeros(96, dtype)
    assert interpret(source, 3, data, sums).events == ()
    np.testing.assert_array_equal(sums, data + data.reshape(-1, 2)[:, ::-1].reshape(-1) * dtype(3))


def test_dynamic_indices_of_local_arrays() -> None:
    source = """
    layout(local_size_x = 32) in;
    layout(std430, binding = 0) buffer Data { uint data[]; };
    struct Pair { uvec2 a; float b[3]; };
    void main() {
        uint i = gl_LocalInvocationIndex;
        Pair pairs[5];
        for (uint k = 0u; k < 5u; k++) {
            pairs[k].a = uvec2(k, k * k);
            for (uint m = 0u; m < 3u; m++) pairs[k].b[m] = float(k * 10u + m);
        }
        uint k = data[i] % 5u;
        pairs[k].a[i & 1u] += 100u;
        pairs[(k + 1u) % 5u].b[i % 3u] = 0.5;
        Pair chosen = pairs[k];
        mat3 m = mat3(1.0);
        m[i % 3u][(i / 3u) % 3u] += 4.0;
        data[i] = chosen.a.x * 1000u + chosen.a.y + uint(pairs[(k + 1u) % 5u].b[i % 3u] * 2.0)
            + uint(m[i % 3u][(i / 3u) % 3u]) * 10000u;
    }
    """
    data = np.arange(32, dtype=np.uint32) * 3
    expected = []
    for i, given in enumerate(data.tolist()):
        k = given % 5
        a = [k, k * k]
        a[i & 1] += 100
        m = (1 if i % 3 == i // 3 % 3 else 0) + 4
        expected.append(a[0] * 1000 + a[1] + 1 + m * 10000)
    interpret(source, 1, data)
    assert data.tolist() == expected


def test_runtime_length_and_specialized_array() -> None:
    source = """
    layout(local_size_x_id = 0) in;
    layout(constant_id = 1) const uint LENGTH = 4u;
    layout(constant_id = 2) const bool TWICE = false;
    layout(constant_id = 3) const float SCALE = 1.5;
    const uint HALF = LENGTH / 2u + 1u;
    layout(std430, binding = 0) buffer Data { uint head; uvec2 data[]; };
    void main() {
        float values[LENGTH * 2u];
        for (uint k = 0u; k < LENGTH * 2u; k++) values[k] = float(k) * SCALE;
        if (gl_LocalInvocationIndex == 0u) {
            head = uint(data.length()) * 1000u + values.length();
            data[0] = uvec2(HALF, TWICE ? 2u : 1u);
            data[1] = uvec2(uint(values[values.length() - 1]), gl_WorkGroupSize.x);
        }
    }
    """
    data = np.zeros(2 + 2 * 9, np.uint32)
    chosen = program(source, specialization={0: 7, 1: 10, 2: True, 3: 2.0})
    assert chosen.local_size == (7, 1, 1)
    interpret(chosen, 1, data)
    assert data[0] == 9 * 1000 + 20
    assert data[2:6].tolist() == [6, 2, 38, 7]


def test_push_constants_and_uniform_blocks() -> None:
    source = """
    layout(local_size_x = 4) in;
    layout(push_constant) uniform Push { vec2 scale; layout(offset = 16) ivec3 shift; } push;
    layout(std140, binding = 0) uniform Block { float table[4]; } block;
    layout(std430, binding = 1) buffer Data { float data[]; };
    void main() {
        uint i = gl_LocalInvocationIndex;
        data[i] = block.table[i] * push.scale[i & 1u] + float(push.shift[i % 3u]);
    }
    """
    table = np.zeros((4, 4), np.float32)
    table[:, 0] = [1, 2, 3, 4]
    data = np.zeros(4, np.float32)
    push = np.array([10, 100, 0, 0], np.float32).tobytes() + np.array([1, 2, 3], np.int32).tobytes()
    interpret(source, 1, table, data, push=push)
    assert data.tolist() == [11, 202, 33, 401]


def test_arrays_of_buffers_chosen_by_each_invocation() -> None:
    source = """
    #extension GL_EXT_nonuniform_qualifier : require
    layout(local_size_x = 12) in;
    layout(std430, binding = 0) buffer Data { uint data[]; } parts[3];
    void main() {
        uint i = gl_LocalInvocationIndex;
        uint old = parts[nonuniformEXT(i % 3u)].data[i / 3u];
        parts[nonuniformEXT((i + 1u) % 3u)].data[4u + i / 3u] = old + i;
        atomicAdd(parts[nonuniformEXT(i % 3u)].data[8], i);
    }
    """
    arrays = [np.arange(9, dtype=np.uint32) + 100 * k for k in range(3)]
    expected = [array.copy() for array in arrays]
    for i in range(12):
        expected[(i + 1) % 3][4 + i // 3] = expected[i % 3][i // 3] + i
        expected[i % 3][8] += i
    memories = [Memory(array.view(np.uint8), f"part {k}") for k, array in enumerate(arrays)]
    outcome = execute(program(source), (1, 1, 1), {(0, 0): memories})
    assert outcome.events == ()
    for array, wanted in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(array, wanted)


def test_physical_addresses_follow_a_list() -> None:
    source = """
    #extension GL_EXT_buffer_reference : require
    #extension GL_EXT_buffer_reference_uvec2 : require
    layout(local_size_x = 4) in;
    layout(buffer_reference) buffer Node;
    layout(buffer_reference, std430, buffer_reference_align = 8)
    buffer Node { Node next; uint value; uint pad; };
    layout(std430, binding = 0) buffer Data { uvec2 head; uint sums[4]; };
    void main() {
        Node node = Node(head);
        uint sum = 0u;
        for (uint k = 0u; k <= gl_LocalInvocationIndex; k++) { sum += node.value; node = node.next; }
        sums[gl_LocalInvocationIndex] = sum;
    }
    """
    base = 1 << 20
    nodes = np.zeros(4, np.dtype([("next", "<u8"), ("value", "<u4"), ("pad", "<u4")]))
    nodes["value"] = [1, 10, 100, 1000]
    nodes["next"] = [base + 32, 0, base + 48, base + 16]
    far = Memory(nodes.view(np.uint8), "nodes")
    far.address = base
    data = np.zeros(6, np.uint32)
    data[:2] = np.array([base], np.uint64).view(np.uint32)
    near = Memory(data.view(np.uint8), "data")
    outcome = execute(program(source), (1, 1, 1), {(0, 0): [near]}, addressable=[far])
    assert outcome.events == ()
    assert data[2:].tolist() == [1, 101, 1101, 1111]


@pytest.mark.parametrize("stride", [8, 12])
def test_elements_behind_a_physical_address(stride: int) -> None:
    # No GLSL becomes OpPtrAccessChain here, so it is put in the place of another chain.
    source = """
    #extension GL_EXT_buffer_reference : require
    #extension GL_EXT_buffer_reference_uvec2 : require
    layout(local_size_x = 4) in;
    layout(buffer_reference, std430, buffer_reference_align = 4) buffer Pair { uint first; uint second; };
    layout(std430, binding = 0) buffer Data { uint data[4]; };
    void main() { Pair pair = Pair(uvec2(4096u + data[0], 0u)); data[gl_LocalInvocationIndex] = pair.second; }
    """
    text = disassemble(program(source).module)
    pointer, pointee = "%_ptr_PhysicalStorageBuffer_Pair", "%_ptr_PhysicalStorageBuffer_uint"
    text = re.sub(
        rf"(%\w+) = OpAccessChain {pointee} (%\w+) %int_1",
        rf"%lane = OpLoad %uint %gl_LocalInvocationIndex\n\1 = OpPtrAccessChain {pointee} \2 %lane %int_1",
        text,
    )
    text = text.replace(
        "%void = OpTypeVoid", f"OpDecorate {pointer} ArrayStride {stride}\n%void = OpTypeVoid"
    )
    data, far = np.zeros(4, np.uint32), Memory(np.arange(12, dtype=np.uint32).view(np.uint8), "pairs")
    far.address = 4096
    chosen = ExecutableShader(assemble(text, TargetEnvironment.VULKAN_1_2))
    near = Memory(data.view(np.uint8), "data")
    outcome = execute(chosen, (1, 1, 1), {(0, 0): [near]}, addressable=[far])
    assert outcome.events == ()
    assert data.tolist() == [1 + k * stride // 4 for k in range(4)]


def test_an_address_outside_of_every_buffer_is_reported() -> None:
    source = """
    #extension GL_EXT_buffer_reference : require
    #extension GL_EXT_buffer_reference_uvec2 : require
    layout(local_size_x = 4) in;
    layout(buffer_reference, std430, buffer_reference_align = 4) buffer Cell { uint value; };
    layout(std430, binding = 0) buffer Data { uint data[]; };
    void main() {
        uint i = gl_LocalInvocationIndex;
        data[i] = Cell(uvec2(data[i] * 64u, 0u)).value;
    }
    """
    data = np.ones(4, np.uint32)
    outcome = interpret(source, 1, data)
    assert "bounds" in kinds(outcome)


def test_private_variables_and_initialised_shared_memory() -> None:
    source = """
    #extension GL_EXT_null_initializer : require
    layout(local_size_x = 8) in;
    layout(std430, binding = 0) buffer Data { uint data[]; };
    uint counter = 5u;
    uint table[4] = uint[4](2u, 3u, 5u, 7u);
    shared uint total[4] = { };
    void step_on() { counter += table[gl_LocalInvocationIndex & 3u]; table[0] = 11u; }
    void main() {
        step_on();
        step_on();
        atomicAdd(total[gl_LocalInvocationIndex & 3u], counter);
        barrier();
        data[gl_GlobalInvocationID.x] = counter * 1000u + total[gl_LocalInvocationIndex & 3u];
    }
    """
    data = np.zeros(16, np.uint32)
    outcome = interpret(source, 2, data)
    counters = [5 + 2 + 11, 5 + 3 * 2, 5 + 5 * 2, 5 + 7 * 2]
    assert data.tolist() == [counters[i & 3] * 1000 + 2 * counters[i & 3] for i in range(8)] * 2
    assert outcome.events == ()


def test_a_part_of_an_array_written_by_some_invocations() -> None:
    source = """
    layout(local_size_x = 8) in;
    layout(std430, binding = 0) buffer Data { uvec4 data[]; };
    void main() {
        uint i = gl_LocalInvocationIndex;
        uvec4 list[3];
        list[2] = uvec4(i);
        mat2x3 m = mat2x3(1.0);
        if (i > 2u) { list[2] = uvec4(7u, i, 1u, 2u); m[1] = vec3(i, 5.0, 6.0); }
        if ((i & 1u) == 1u) { list[2].z = 50u; m[1][2] = 9.0; }
        data[i] = list[2] + uvec4(uvec3(m[1]), 0u);
    }
    """
    data = np.zeros((8, 4), np.uint32)
    assert interpret(source, 1, data).events == ()
    for i, result in enumerate(data.tolist()):
        values = [7, i, 1, 2] if i > 2 else [i] * 4
        column = [i, 5, 6] if i > 2 else [0, 1, 0]
        if i & 1:
            values[2], column[2] = 50, 9
        assert result == [values[k] + (column[k] if k < 3 else 0) for k in range(4)]


def test_an_index_need_not_fit_the_buffers_that_other_invocations_choose() -> None:
    source = """
    #extension GL_EXT_nonuniform_qualifier : require
    layout(local_size_x = 8) in;
    layout(std430, binding = 0) readonly buffer Source { uint x[]; } sources[2];
    layout(std430, binding = 1) writeonly buffer Target { uint y[]; };
    void main() {
        uint i = gl_LocalInvocationIndex, which = i & 1u;
        y[i] = sources[nonuniformEXT(which)].x[which == 1u ? 500u + i : i / 2u];
    }
    """
    small, large = np.arange(4, dtype=np.uint32), np.arange(1000, dtype=np.uint32)
    result = np.zeros(8, np.uint32)
    memories = [Memory(array.view(np.uint8), "a buffer") for array in (small, large, result)]
    outcome = execute(program(source), (1, 1, 1), {(0, 0): memories[:2], (0, 1): memories[2:]})
    assert outcome.events == ()
    assert result.tolist() == [0, 501, 1, 503, 2, 505, 3, 507]


@pytest.mark.parametrize("index", [2**62, 2**63 - 1, 2**63, 2**64 - 2])
def test_constant_indices_beyond_64_bits_of_bytes_are_out_of_bounds(index: int) -> None:
    # GLSL has no indices of 64 bits; SPIR-V has.
    module = assemble(
        f"""OpCapability Shader
        OpCapability Int64
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main "main" %data
        OpExecutionMode %main LocalSize 8 1 1
        OpDecorate %numbers ArrayStride 4
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %data DescriptorSet 0
        OpDecorate %data Binding 0
        %void = OpTypeVoid
        %function = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %long = OpTypeInt 64 0
        %zero = OpConstant %uint 0
        %index = OpConstant %long {index}
        %numbers = OpTypeRuntimeArray %uint
        %block = OpTypeStruct %numbers
        %to_block = OpTypePointer StorageBuffer %block
        %to_number = OpTypePointer StorageBuffer %uint
        %data = OpVariable %to_block StorageBuffer
        %main = OpFunction %void None %function
        %only = OpLabel
        %far = OpAccessChain %to_number %data %zero %index
        %near = OpAccessChain %to_number %data %zero %zero
        %loaded = OpLoad %uint %far
        OpStore %near %loaded
        OpReturn
        OpFunctionEnd""",
        TargetEnvironment.VULKAN_1_2,
    )
    outcome = interpret(ExecutableShader(module), 1, np.zeros(8, np.uint32))
    assert "bounds" in kinds(outcome)
