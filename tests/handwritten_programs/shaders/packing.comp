#version 460
// Packed formats: half floats, normalised 8- and 16-bit fractions, 5-6-5 colours, RGB9E5 decoded.
// colors: one vec4 an invocation. packed_colors: half2x16 of xy, unorm4x8, snorm2x16 of zw, 5-6-5.
// exponents: an RGB9E5 word each. unpacked: the first three again (halves, x of unorm, x of snorm), and the RGB9E5.

layout(local_size_x = 64) in;
struct Unpacked {
    vec4 back;
    vec3 shared_exponent;
};
layout(std430, binding = 0) readonly buffer Colors { vec4 colors[]; };
layout(std430, binding = 1) readonly buffer Exponents { uint exponents[]; };
layout(std430, binding = 2) writeonly buffer PackedColors { uvec4 packed_colors[]; };
layout(std430, binding = 3) writeonly buffer UnpackedColors { Unpacked unpacked[]; };

uint pack565(vec3 color) {
    uvec3 parts = uvec3(clamp(color, 0.0, 1.0) * vec3(32.0, 64.0, 32.0));
    parts = min(parts, uvec3(31u, 63u, 31u));
    return parts.r | parts.g << 5 | parts.b << 11;
}

vec3 decode9e5(uint word) {
    uvec3 mantissas = uvec3(word, word >> 9, word >> 18) & 511u;
    return ldexp(vec3(mantissas), ivec3(int(word >> 27) - 24));
}

void main() {
    uint me = gl_GlobalInvocationID.x;
    vec4 color = colors[me];
    uint halves = packHalf2x16(color.xy), bytes = packUnorm4x8(color), shorts = packSnorm2x16(color.zw);
    packed_colors[me] = uvec4(halves, bytes, shorts, pack565(color.rgb));
    vec4 back = vec4(unpackHalf2x16(halves), unpackUnorm4x8(bytes).x, unpackSnorm2x16(shorts).x);
    unpacked[me] = Unpacked(back, decode9e5(exponents[me]));
}
