#version 460
// Points in a quarter circle by an xorshift generator of each invocation's own, in whole numbers.
// hits: points in the circle of all invocations; 0 before. states: the generators, never 0; moved on.
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint points; };
layout(std430, binding = 0) buffer Hits { uint hits; };
layout(std430, binding = 1) buffer States { uint states[]; };

uint random(inout uint state) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

void main() {
    uint state = states[gl_GlobalInvocationID.x], mine = 0u;
    for (uint point = 0u; point < points; point++) {
        uint x = random(state) >> 17, y = random(state) >> 17;
        if (x * x + y * y < 0x40000000u) mine++;
    }
    states[gl_GlobalInvocationID.x] = state;
    uint all = subgroupAdd(mine);
    if (subgroupElect()) atomicAdd(hits, all);
}
