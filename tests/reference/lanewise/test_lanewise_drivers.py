"""Lane-wise functions of GLSL on drivers: integers equal to the reference, floats in their legal range.

One shader calls them all; it runs as glslang emits it and as spirv-opt makes it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from by_hand import F32

import vkgroup
from vkgroup.compiler import TargetEnvironment
from vkgroup.dispatch import Device
from vkgroup.reference.interpreter.operations.precision import legal_range

N = 512
Arrays = tuple[np.ndarray, np.ndarray]
GLSL = "GLSL.std.450 "

#: Expression of a, b and c: its instruction and operands.
FLOATS = {
    "a + b": ("OpFAdd", "ab"),
    "a - b": ("OpFSub", "ab"),
    "a * b": ("OpFMul", "ab"),
    "a / b": ("OpFDiv", "ab"),
    "mod(a, b)": ("OpFMod", "ab"),
    "fma(a, b, c)": (GLSL + "Fma", "abc"),
    "mix(a, b, c)": (GLSL + "FMix", "abc"),
    "smoothstep(0.5 * b, b, a)": (GLSL + "SmoothStep", "hba"),
    "clamp(a, 0.5 * b, b)": (GLSL + "FClamp", "ahb"),
    "step(a, b)": (GLSL + "Step", "ab"),
    "min(a, b)": (GLSL + "FMin", "ab"),
    "max(a, b)": (GLSL + "FMax", "ab"),
    "pow(a, b)": (GLSL + "Pow", "ab"),
    "atan(a, b)": (GLSL + "Atan2", "ab"),
    "ldexp(a, int(b * 9.0) - 12)": (GLSL + "Ldexp", "ae"),
    **{
        f"{function}(a)": (GLSL + name, "a")
        for function, name in {
            "sin": "Sin",
            "cos": "Cos",
            "tan": "Tan",
            "atan": "Atan",
            "sinh": "Sinh",
            "cosh": "Cosh",
            "tanh": "Tanh",
            "asinh": "Asinh",
            "exp": "Exp",
            "exp2": "Exp2",
            "log": "Log",
            "log2": "Log2",
            "sqrt": "Sqrt",
            "inversesqrt": "InverseSqrt",
            "radians": "Radians",
            "degrees": "Degrees",
            "floor": "Floor",
            "ceil": "Ceil",
            "trunc": "Trunc",
            "round": "Round",
            "roundEven": "RoundEven",
            "fract": "Fract",
            "abs": "FAbs",
            "sign": "FSign",
        }.items()
    },
    "asin(u)": (GLSL + "Asin", "u"),
    "acos(u)": (GLSL + "Acos", "u"),
    "atanh(u)": (GLSL + "Atanh", "u"),
    "acosh(a + 1.0)": (GLSL + "Acosh", "o"),
    "dot(vec3(a, b, c), vec3(c, u, b))": ("OpDot", "vw"),
    "length(vec3(a, b, c))": (GLSL + "Length", "v"),
    "distance(vec3(a, b, c), vec3(c, u, b))": (GLSL + "Distance", "vw"),
}
#: What works on integers (i, j: int; p, q: uint; s below 32), or floats exactly.
INTEGERS = """
p + q
p - q
p * q
p / (q | 1u)
p % (q | 1u)
uint(i / (j | 1))
uint(abs(i) % (abs(j) | 1))
p & q
p | q
p ^ q
~p
p << s
p >> s
uint(i >> s)
uint(i << s)
uint(-i)
uint(min(i, j))
uint(max(i, j))
min(p, q)
max(p, q)
uint(clamp(i, -5000, 70000))
clamp(p, 77u, 1u << 30)
uint(abs(i))
uint(sign(i))
uint(i < j)
uint(p >= q)
uint(p != q)
bitfieldExtract(p, int(s), 32 - int(s))
uint(bitfieldExtract(i, int(s) / 2, 11))
bitfieldInsert(p, q, int(s) / 2, 9)
bitfieldReverse(p)
uint(bitCount(p))
uint(findLSB(p & q))
uint(findMSB(p >> s))
uint(findMSB(i >> s))
usubBorrow(p, q, extra) + extra
uaddCarry(p, q, extra) + extra * 3u
high(p, q)
low(p, q)
uint(high(i, j))
floatBitsToUint(a)
uint(int(a * 1000.0))
uint(b * 1000.0)
uint(isnan(a)) + 2u * uint(isinf(b))
uint(a < b) | uint(a >= c) << 1 | uint(a == a) << 2
packHalf2x16(vec2(halved(a), halved(b)))
packSnorm4x8(vec4(0.0, floor(a) - 2.0, 1.0 - ceil(b), -7.0 * ceil(u)))
floatBitsToUint(unpackHalf2x16(p & 0x3bff3bffu).y)
pick(uvec4(p, q, s, 7u), s & 3u)
uvec3(p, q, s).zxy[s % 3u]
place(uvec3(p, q, s), s % 3u, 99u)
split(a)
uint(any(bvec3(i < 0, p > q, s == 0u))) + 2u * uint(all(bvec2(i < j, p != q)))
(i < j ? p : q) + uint(not(bvec2(i < j)).x)
floatBitsToUint((mat2(1.0) * vec2(floor(a), 2.0)).x)
floatBitsToUint(determinant(mat2(2.0, 1.0, floor(a), 3.0)))
uint(i64(i, j))
frac(b)
""".strip().splitlines()

HELPERS = """
float halved(float x) { return round(x * 8.0) / 8.0; }
uint pick(uvec4 v, uint at) { return v[at]; }
uint place(uvec3 v, uint at, uint x) { v[at] = x; return v.x * 3u + v.y * 5u + v.z; }
uint high(uint x, uint y) { uint h, l; umulExtended(x, y, h, l); return h; }
uint low(uint x, uint y) { uint h, l; umulExtended(x, y, h, l); return l; }
int high(int x, int y) { int h, l; imulExtended(x, y, h, l); return h; }
uint split(float x) { int e; float m = frexp(x, e); return floatBitsToUint(m) + uint(e); }
uint frac(float x) { float w; float f = modf(x * 4.0, w); return floatBitsToUint(f) ^ floatBitsToUint(w); }
uint i64(int x, int y) { int h, l; imulExtended(x, y, h, l); return uint(l) ^ uint(h); }
"""


def shader() -> str:
    floats = [f"    found[{k * N}u + at] = {text};" for k, text in enumerate(FLOATS)]
    integers = [f"    counted[{k * N}u + at] = {text};" for k, text in enumerate(INTEGERS)]
    return "\n".join(
        [
            "#version 460",
            "layout(local_size_x = 64) in;",
            "layout(binding = 0) readonly buffer Given { float given[]; };",
            "layout(binding = 1) readonly buffer Words { uint words[]; };",
            "layout(binding = 2) writeonly buffer Found { float found[]; };",
            "layout(binding = 3) writeonly buffer Counted { uint counted[]; };",
            HELPERS,
            "void main() {",
            "    uint at = gl_GlobalInvocationID.x, extra;",
            f"    float a = given[at], b = given[at + {N}u];",
            f"    float c = given[at + {2 * N}u], u = given[at + {3 * N}u];",
            f"    uint p = words[at], q = words[at + {N}u], s = words[at + {2 * N}u] & 31u;",
            "    int i = int(p), j = int(q);",
            *floats,
            *integers,
            "}",
        ]
    )


@pytest.fixture(scope="module")
def inputs() -> Arrays:
    rng = np.random.default_rng(0)
    given = rng.uniform(0.06, 3.1, (4, N)).astype(np.float32)
    given[3] = rng.uniform(0.05, 0.95, N)
    words = rng.integers(0, 2**32, (3, N), np.uint32)
    words[:, :20] = rng.integers(0, 5, (3, 20))
    return given, words


def run(device: Device, inputs: Arrays, optimize: str | bool) -> Arrays:
    module = vkgroup.compile(
        shader(), stage="compute", optimize=optimize, target=TargetEnvironment.VULKAN_1_2
    )
    given, words = inputs
    bindings = {
        "given": given.ravel(),
        "words": words.ravel(),
        "found": np.zeros(len(FLOATS) * N, np.float32),
        "counted": np.zeros(len(INTEGERS) * N, np.uint32),
    }
    outcome = device.run(module, groups=N // 64, bindings=bindings)
    return outcome["found"].reshape(-1, N), outcome["counted"].reshape(-1, N)


@pytest.fixture(scope="module", params=[False, "performance", "size"])
def reference(request: pytest.FixtureRequest, inputs: Arrays) -> Iterator[tuple]:
    with vkgroup.open("reference") as device:
        yield request.param, run(device, inputs, request.param)


def operands_of(letters: str, inputs: Arrays) -> list[np.ndarray]:
    a, b, c, u = inputs[0]
    v, w = np.stack([a, b, c]), np.stack([c, u, b])
    by_letter = {
        "a": a,
        "b": b,
        "c": c,
        "u": u,
        "h": np.float32(0.5) * b,
        "o": a + np.float32(1),
        "v": v,
        "w": w,
    }
    by_letter["e"] = (b * np.float32(9)).astype(np.int32) - 12
    return [by_letter[letter] for letter in letters]


def test_drivers_stay_in_the_legal_ranges(vulkan_device, reference, inputs):
    optimize, (expected, counted) = reference
    result, words = run(vulkan_device, inputs, optimize)
    for place, (text, (name, letters)) in enumerate(FLOATS.items()):
        span = legal_range(name, F32, operands_of(letters, inputs), expected[place])
        outside = ~((span.low <= result[place]) & (result[place] <= span.high))
        assert not outside.any(), (text, result[place][outside][:3], expected[place][outside][:3])
    for place, text in enumerate(INTEGERS):
        wrong = words[place] != counted[place]
        assert not wrong.any(), (text, words[place][wrong][:3], counted[place][wrong][:3])


#: Other widths: of p and q, and exactly.
WIDTHS = """
uint(uint8_t(p) * uint8_t(q))
uint(int8_t(p) >> int8_t(3)) + uint(int16_t(p) * int16_t(q))
uint(uint16_t(p) / (uint16_t(q) | uint16_t(1)))
uint(int16_t(p) < int16_t(q)) + uint(uint8_t(p) >= uint8_t(q)) * 2u
uint((uint64_t(p) * uint64_t(q)) >> 13)
uint((int64_t(int(p)) * int64_t(int(q))) / int64_t(1000003))
uint(uint64_t(p) << (q & 31u))
unpackUint2x32(packUint2x32(uvec2(p, q)) * 3ul).y
pack32(unpack16(p).yx) ^ pack32(unpack8(q).wzyx)
uint(bitCount(p)) + pack32(u16vec2(uint16_t(q), uint16_t(p)))
uint(double(p) / 3.0lf)
unpackDouble2x32(double(p) * double(q) - 0.5lf).x
unpackDouble2x32(fma(double(p), 12345.0lf, double(q))).x
unpackDouble2x32(sqrt(double(p))).x + unpackDouble2x32(floor(double(q) / 7.0lf)).y
uint(double(int64_t(p) << 20) == 0.0lf) + uint(float(double(p & 0xffffffu)))
uint(float16_t(float(p & 1023u)) * 2.0hf) + uint(float16_t(q & 2047u) > float16_t(p & 2047u))
packFloat2x16(f16vec2(float16_t(p & 255u), float16_t(q & 15u)) + f16vec2(0.5hf))
uint(f16vec2(float16_t(p & 255u), 1.0hf) == f16vec2(float16_t(q & 255u), 1.0hf))
uint(float(uint64_t(p) << 17) == float(p) * 131072.0)
""".strip().splitlines()


def test_other_widths(lavapipe, inputs):
    lines = "\n".join(f"    counted[{place * N}u + at] = {text};" for place, text in enumerate(WIDTHS))
    source = f"""#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Words {{ uint words[]; }};
layout(binding = 1) writeonly buffer Counted {{ uint counted[]; }};
void main() {{
    uint at = gl_GlobalInvocationID.x, p = words[at], q = words[at + {N}u];
{lines}
}}"""
    bindings = {"words": inputs[1].ravel(), "counted": np.zeros(len(WIDTHS) * N, np.uint32)}
    for optimize in (False, "performance"):
        module = vkgroup.compile(
            source, stage="compute", optimize=optimize, target=TargetEnvironment.VULKAN_1_2
        )
        outcomes = []
        for name in ("reference", lavapipe.name):
            with vkgroup.open(name) as device:
                result = device.run(module, groups=N // 64, bindings=bindings)["counted"]
                outcomes.append(result.reshape(-1, N))
        for text, first, second in zip(WIDTHS, *outcomes, strict=True):
            wrong = first != second
            assert not wrong.any(), (text, first[wrong][:3], second[wrong][:3])
