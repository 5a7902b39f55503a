"""Compute shaders written for OpenGL, run: counters, uniforms of every type, binding points of every kind."""

from __future__ import annotations

import itertools

import gl_runs
import numpy as np
import pytest

from vkgroup.dispatch import Device

HEAD = "#version 430\nlayout(local_size_x = 4) in;\n"


def test_one_binding_point_of_each_kind(device: Device) -> None:
    source = """#version 430
        layout(local_size_x = 4) in;
        layout(binding = 0) uniform atomic_uint counter;
        layout(binding = 0) buffer Storage { uint found[]; };
        layout(binding = 0) uniform Block { uint added; };
        layout(binding = 0, r32ui) uniform uimage2D image;
        layout(binding = 0) uniform sampler2D texels;
        uniform uint factor = 2u;
        void main() {
            uint i = gl_GlobalInvocationID.x;
            atomicCounterIncrement(counter);
            found[i] = added + factor * uint(texture(texels, vec2(0.5)).x);
            imageStore(image, ivec2(i, 0), uvec4(i + added));
        }
    """
    found = gl_runs.run(
        device,
        [source],
        {
            ("storage_block", 0): np.zeros(8, np.uint32),
            ("uniform_block", 0): np.array([7, 0, 0, 0], np.uint32),
            ("atomic_counter_buffer", 0): np.array([5], np.uint32),
            ("image", 0): np.zeros((1, 8), np.uint32),
            ("sampler", 0): np.full((2, 2, 4), 3, np.float32),
        },
        groups=2,
    )
    assert found["storage_block", 0].tolist() == [13] * 8
    assert found["atomic_counter_buffer", 0].tolist() == [13]
    assert found["image", 0].tolist() == [list(range(7, 15))]


def test_atomic_counters(device: Device) -> None:
    """Increment returns the value before, decrement the one after (GLSL 4.30, 8.10)."""
    source = """#version 420
        #extension GL_ARB_compute_shader : require
        #extension GL_ARB_shader_storage_buffer_object : require
        layout(local_size_x = 4) in;
        layout(binding = 1, offset = 4) uniform atomic_uint up;
        layout(binding = 1) uniform atomic_uint down;
        layout(binding = 3) uniform atomic_uint read;
        layout(binding = 0) buffer Storage { uint found[]; };
        void main() {
            uint i = 3u * gl_GlobalInvocationID.x;
            found[i] = atomicCounterIncrement(up);
            found[i + 1u] = atomicCounterDecrement(down);
            found[i + 2u] = atomicCounter(read);
        }
    """
    found = gl_runs.run(
        device,
        [source],
        {
            ("storage_block", 0): np.zeros(24, np.uint32),
            ("atomic_counter_buffer", 1): np.array([1, 10, 100], np.uint32),
            ("atomic_counter_buffer", 3): np.array([9], np.uint32),
        },
        groups=2,
    )
    up, down, read = found["storage_block", 0].reshape(-1, 3).T
    assert sorted(up.tolist()) == list(range(10, 18))
    assert sorted(down.tolist()) == list(range(92, 100))
    assert set(read.tolist()) == {9}
    assert found["atomic_counter_buffer", 1].tolist() == [1, 18, 92]


def test_counters_in_arrays_of_arrays_and_as_parameters(device: Device) -> None:
    source = (
        HEAD
        + """
        layout(binding = 0, offset = 4) uniform atomic_uint counters[2][3];
        layout(binding = 0) buffer Storage { uint found[]; };
        uint twice(atomic_uint counter) {
            if (atomicCounter(counter) > 50u) { return 0u; }
            atomicCounterIncrement(counter);
            return atomicCounterIncrement(counter);
        }
        void main() {
            if (gl_LocalInvocationIndex != 0u) { return; }
            uint row = found[0];
            for (int column = 0; column < 3; ++column) { found[column] = twice(counters[row][column]); }
            found[3] = twice(counters[0][2]);
        }
    """
    )
    found = gl_runs.run(
        device,
        [source],
        {
            ("storage_block", 0): np.array([1, 0, 0, 0], np.uint32),
            ("atomic_counter_buffer", 0): np.array([7, 10, 20, 30, 40, 50, 60], np.uint32),
        },
    )
    assert found["storage_block", 0].tolist() == [41, 51, 0, 31]
    assert found["atomic_counter_buffer", 0].tolist() == [7, 10, 20, 32, 42, 52, 60]


#: Value after, from 12 and the operand 10 (compared with 12 for CompSwap).
COUNTER_OPERATIONS = {
    "Add": 22,
    "Subtract": 2,
    "Min": 10,
    "Max": 12,
    "And": 8,
    "Or": 14,
    "Xor": 6,
    "Exchange": 10,
    "CompSwap": 10,
}


@pytest.mark.parametrize("version", [430, 450])
def test_operations_on_counters(version: int, device: Device) -> None:
    """GL_ARB_shader_atomic_counter_ops asks for GLSL 4.20; each function returns the value before."""
    lines = [
        f"found[{number}] = atomicCounter{name}ARB(counters[{number}], {'12u, ' * (name == 'CompSwap')}10u);"
        for number, name in enumerate(COUNTER_OPERATIONS)
    ]
    source = (
        f"#version {version}\n#extension GL_ARB_shader_atomic_counter_ops : require\n"
        "layout(local_size_x = 1) in;\n"
        f"layout(binding = 0) uniform atomic_uint counters[{len(lines)}];\n"
        "layout(binding = 0) buffer Storage { uint found[]; };\n"
        f"void main() {{ {' '.join(lines)} }}"
    )
    count = len(lines)
    found = gl_runs.run(
        device,
        [source],
        {
            ("storage_block", 0): np.zeros(count, np.uint32),
            ("atomic_counter_buffer", 0): np.full(count, 12, np.uint32),
        },
    )
    assert found["storage_block", 0].tolist() == [12] * count
    assert found["atomic_counter_buffer", 0].tolist() == list(COUNTER_OPERATIONS.values())


SCALARS = {"float": "", "int": "i", "uint": "u", "bool": "b"}
VECTORS = [f"{prefix}vec{count}" for prefix in SCALARS.values() for count in (2, 3, 4)]
MATRICES = [f"mat{columns}x{rows}" for columns, rows in itertools.product((2, 3, 4), repeat=2)]


def _shape(name: str) -> tuple[int, int]:
    if "mat" in name:
        return int(name[3]), int(name[5])
    return (1, int(name[-1])) if "vec" in name else (1, 1)


def _components(name: str, expression: str) -> list[str]:
    columns, rows = _shape(name)
    if "mat" in name:
        return [f"{expression}[{column}][{row}]" for column in range(columns) for row in range(rows)]
    return [expression] if rows == 1 else [f"{expression}[{row}]" for row in range(rows)]


@pytest.mark.parametrize("kind", [*SCALARS, *VECTORS, *MATRICES])
def test_uniforms_of_every_type(kind: str, device: Device) -> None:
    """Alone, in an array, in an array of arrays, and in a structure; after another that shifts them."""
    expressions = [
        *_components(kind, "single"),
        *(part for index in range(3) for part in _components(kind, f"several[{index}]")),
        *(part for index in range(2) for part in _components(kind, f"nested[{index}][1]")),
        *_components(kind, "held.inside"),
        *_components(kind, "held.more[1]"),
    ]
    stores = "\n".join(f"found[{number}] = float({text});" for number, text in enumerate(expressions))
    source = (
        "#version 430\nlayout(local_size_x = 1) in;\n"
        f"struct Held {{ float first; {kind} inside; float between; {kind} more[2]; }};\n"
        f"uniform float before; uniform {kind} single; uniform float between; uniform {kind} several[3];\n"
        f"uniform Held held; uniform {kind} nested[2][2];\n"
        "layout(binding = 0) buffer Storage { float found[]; };\n"
        f"void main() {{\n{stores}\n"
        f"found[{len(expressions)}] = before + between + held.first + held.between;\n}}"
    )
    size = _shape(kind)[0] * _shape(kind)[1]
    numbers = iter(range(1, 1000))

    def some(count: int) -> list[int]:
        return [next(numbers) % 2 if "b" in kind else next(numbers) for _ in range(count * size)]

    uniforms = {
        "single": some(1),
        "several": some(3),
        "nested[0]": some(2),
        "nested[1]": some(2),
        "held.inside": some(1),
        "held.more": some(2),
    }
    found = gl_runs.run(
        device,
        [source],
        {("storage_block", 0): np.zeros(len(expressions) + 1, np.float32)},
        {"before": 0.5, "between": 1, "held.first": 2, "held.between": 4, **uniforms},
    )
    expected = [
        *uniforms["single"],
        *uniforms["several"],
        *uniforms["nested[0]"][size:],
        *uniforms["nested[1]"][size:],
        *uniforms["held.inside"],
        *uniforms["held.more"][size:],
        7.5,
    ]
    assert found["storage_block", 0].tolist() == expected


def test_initialisers_reach_the_shader(device: Device) -> None:
    source = (
        HEAD
        + """
        struct Light { vec3 color; bool on; int steps[2]; };
        const float half_of = 0.5;
        uniform float scale = 3 * half_of;
        uniform float weights[3] = float[](1.0, 2.0, 4.0);
        uniform mat2 turn = mat2(1, 2, 3, 4);
        uniform Light lights[2] = Light[](Light(vec3(1, 2, 3), true, int[](4, 5)),
                                          Light(vec3(6), false, int[](-7, -8)));
        uniform uvec2 zeros;
        layout(binding = 0) buffer Storage { float found[]; };
        float of(Light light) { return light.color.z + (light.on ? 10.0 : 0.0) + float(light.steps[1]); }
        void main() {
            if (gl_LocalInvocationIndex != 0u) { return; }
            Light copied = lights[1];
            float all[3] = weights;
            found[0] = scale;
            found[1] = all[0] + all[1] + all[2];
            found[2] = (turn * vec2(1, 10)).y;
            found[3] = of(lights[0]);
            found[4] = of(copied);
            found[5] = float(zeros.x + zeros.y);
        }
    """
    )
    found = gl_runs.run(device, [source], {("storage_block", 0): np.ones(6, np.float32)})
    assert found["storage_block", 0].tolist() == [1.5, 7, 42, 18, -2, 0]
    found = gl_runs.run(
        device,
        [source],
        {("storage_block", 0): np.ones(6, np.float32)},
        {"weights[1]": 8, "lights[1].on": True},
    )
    assert found["storage_block", 0].tolist() == [1.5, 13, 42, 18, 8, 0]


def test_uniforms_of_two_shaders_are_one(device: Device) -> None:
    main = (
        HEAD
        + """
        uniform float scale;
        layout(binding = 0) buffer Storage { float found[]; };
        shared float sum[gl_WorkGroupSize.x];
        float weighed(float value);
        void main() {
            sum[gl_LocalInvocationIndex] = weighed(1.0);
            barrier();
            found[gl_LocalInvocationIndex] = scale * sum[gl_LocalInvocationIndex ^ 1u];
        }
    """
    )
    other = """#version 430
        uniform float scale;
        uniform float weight = 2.0;
        float weighed(float value) { return value * weight * scale + float(gl_LocalInvocationIndex); }
    """
    found = gl_runs.run(device, [main, other], {("storage_block", 0): np.zeros(4, np.float32)}, {"scale": 10})
    assert found["storage_block", 0].tolist() == [210, 200, 230, 220]


def test_samplers_in_structures_and_arrays_of_arrays(vulkan_device: Device) -> None:
    source = (
        HEAD
        + """
        struct Material { float gloss; sampler2D albedo; };
        uniform Material one;
        uniform Material two[2];
        uniform sampler2D grid[2][2];
        layout(binding = 0) buffer Storage { float found[]; };
        float shade(Material material) { return material.gloss * texture(material.albedo, vec2(0.5)).x; }
        void main() {
            found[0] = one.gloss * texture(one.albedo, vec2(0.5)).x;
            found[1] = two[0].gloss * texture(two[1].albedo, vec2(0.5)).x;
            found[2] = shade(two[1]);
            found[3] = texture(grid[1][0], vec2(0.5)).x + 100.0 * texture(grid[0][1], vec2(0.5)).x;
        }
    """
    )

    def texture(value: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return np.full((1, 1, 4), value, np.float32)

    found = gl_runs.run(
        vulkan_device,
        [source],
        {
            ("storage_block", 0): np.zeros(4, np.float32),
            "one.albedo": texture(2),
            "two.albedo": [texture(3), texture(5)],
            "grid": [texture(value) for value in (1, 2, 3, 4)],
        },
        {"one.gloss": 7, "two[0].gloss": 11, "two[1].gloss": 13},
    )
    assert found["storage_block", 0].tolist() == [14, 55, 65, 203]


def test_built_in_variables(device: Device) -> None:
    source = """#version 420
        #extension GL_ARB_compute_shader : require
        #extension GL_ARB_shader_storage_buffer_object : require
        layout(local_size_x = 2, local_size_y = 3) in;
        layout(binding = 0) buffer Storage { uint found[]; };
        void main() {
            uvec3 sizes = gl_NumWorkGroups * gl_WorkGroupSize;
            uvec3 at = gl_GlobalInvocationID;
            uint place = (at.z * sizes.y + at.y) * sizes.x + at.x;
            bool derived = at == gl_WorkGroupID * gl_WorkGroupSize + gl_LocalInvocationID
                && gl_LocalInvocationIndex == gl_LocalInvocationID.z * gl_WorkGroupSize.x * gl_WorkGroupSize.y
                    + gl_LocalInvocationID.y * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
            found[place] = derived ? gl_NumWorkGroups.x * 100u + gl_NumWorkGroups.y * 10u + gl_NumWorkGroups.z
                                   : 0u;
        }
    """
    found = gl_runs.run(
        device, [source], {("storage_block", 0): np.zeros(2 * 3 * 2 * 3 * 4, np.uint32)}, groups=(2, 3, 4)
    )
    assert set(found["storage_block", 0].tolist()) == {234}


def test_constants_have_the_limits_of_the_device(device: Device) -> None:
    source = """#version 430
        layout(local_size_x = 1) in;
        layout(binding = 0) buffer Storage { int found[]; };
        int sized[gl_MaxComputeAtomicCounterBuffers];
        void main() {
            for (int axis = 0; axis < 3; ++axis) {
                found[axis] = gl_MaxComputeWorkGroupCount[axis];
                found[3 + axis] = gl_MaxComputeWorkGroupSize[axis];
            }
            found[6] = gl_MaxComputeUniformComponents;
            found[7] = gl_MaxComputeTextureImageUnits;
            found[8] = gl_MaxComputeImageUniforms;
            found[9] = gl_MaxComputeAtomicCounters;
            found[10] = sized.length();
        }
    """
    limits = {
        "MAX_COMPUTE_WORK_GROUP_COUNT": (1, 2, 3),
        "GL_MAX_COMPUTE_WORK_GROUP_SIZE": (4, 5, 6),
        "MAX_COMPUTE_UNIFORM_COMPONENTS": 7,
        "MAX_COMPUTE_TEXTURE_IMAGE_UNITS": 8,
        "MAX_COMPUTE_IMAGE_UNIFORMS": 9,
        "MAX_COMPUTE_ATOMIC_COUNTERS": 10,
        "MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS": 11,
    }
    bound: dict[gl_runs.Key, object] = {("storage_block", 0): np.zeros(11, np.int32)}
    assert gl_runs.run(device, [source], bound, limits=limits)["storage_block", 0].tolist() == [*range(1, 12)]
    minima = [65535, 65535, 65535, 1024, 1024, 64, 512, 16, 8, 8, 8]
    assert gl_runs.run(device, [source], bound)["storage_block", 0].tolist() == minima


@pytest.mark.parametrize("memory", ["shared uint value;", "buffer Value { coherent uint value; };"])
def test_atomic_functions_need_no_other_extension(memory: str, device: Device) -> None:
    """ARB_compute_shader, "Dependencies on OpenGL 4.3 and ARB_shader_storage_buffer_object"."""
    calls = {
        "atomicAdd(value, 10u)": 22,
        "atomicMin(value, 10u)": 10,
        "atomicMax(value, 10u)": 12,
        "atomicAnd(value, 10u)": 8,
        "atomicOr(value, 10u)": 14,
        "atomicXor(value, 10u)": 6,
        "atomicExchange(value, 10u)": 10,
        "atomicCompSwap(value, 12u, 10u)": 10,
    }
    body = "".join(
        f"value = 12u; memoryBarrier(); imageStore(found, {2 * number}, uvec4({call}));"
        f"imageStore(found, {2 * number + 1}, uvec4(value));\n"
        for number, call in enumerate(calls)
    )
    barriers = (
        "memoryBarrier(); memoryBarrierAtomicCounter(); memoryBarrierBuffer(); memoryBarrierImage();"
        "memoryBarrierShared(); groupMemoryBarrier(); barrier();"
    )
    source = (
        "#version 420\n#extension GL_ARB_compute_shader : require\n#line 3\n"
        "layout(local_size_x = 1) in;\n"
        "layout(binding = 0, r32ui) uniform writeonly uimage1D found;\n"
        f"{memory}\nvoid main() {{\n{body}{barriers}\n}}"
    )
    bound: dict[gl_runs.Key, object] = {("image", 0): np.zeros(16, np.uint32)}
    if "Value" in memory:
        bound["storage_block", 0] = np.zeros(1, np.uint32)
    found = gl_runs.run(device, [source], bound)["image", 0]
    assert found[0::2].tolist() == [12] * 8
    assert found[1::2].tolist() == list(calls.values())


def test_images_that_are_only_written_need_no_format(device: Device) -> None:
    source = (
        HEAD
        + """
        layout(binding = 5) writeonly uniform image2D picture;
        void main() { imageStore(picture, ivec2(gl_GlobalInvocationID.xy), vec4(gl_GlobalInvocationID.x)); }
    """
    )
    found = gl_runs.run(device, [source], {("image", 5): np.zeros((1, 4), np.float32)})
    assert found["image", 5].tolist() == [[0, 1, 2, 3]]
