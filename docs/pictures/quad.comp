#version 460
// Quads: exchange among four lanes; of a picture, 2 x 2 neighbours.
// values: one number per invocation. results: the sum of what the lane gets.
#extension GL_KHR_shader_subgroup_quad : require

layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Results { uint results[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    uint value = values[i];
    uint across = subgroupQuadSwapHorizontal(value);
    uint diagonal = subgroupQuadSwapDiagonal(value);
    uint last = subgroupQuadBroadcast(value, 3u);
    results[i] = across + diagonal + last;
}
