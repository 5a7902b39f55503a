#version 460
// Colours blended in float16: source over destination, with comparisons, selects and clamps of vectors.
// sources, destinations: f16vec4 an invocation, alpha last. results: source + destination (1 - alpha), at most 1.
// opaque: 1 where alpha is above 3/4, as uint16.
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Sources { f16vec4 sources[]; };
layout(std430, binding = 1) readonly buffer Destinations { f16vec4 destinations[]; };
layout(std430, binding = 2) writeonly buffer Results { f16vec4 results[]; };
layout(std430, binding = 3) writeonly buffer Opaque { uint16_t opaque[]; };

void main() {
    uint me = gl_GlobalInvocationID.x;
    f16vec4 source = sources[me], under = destinations[me] * (float16_t(1.0) - source.a), sum = source + under;
    results[me] = mix(sum, f16vec4(1.0), greaterThan(sum, f16vec4(1.0)));
    opaque[me] = uint16_t(source.a > float16_t(0.75) ? 1 : 0);
}
