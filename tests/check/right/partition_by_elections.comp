// Each distinct value of a subgroup elects a lane, which counts for all: the total counts every invocation once.
#version 460
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Materials { uint material[]; };
layout(binding = 1) buffer Cost { uint cost; };
void main() {
    uint m = material[gl_GlobalInvocationID.x] % 5u;
    for (;;) {
        uint scalar = subgroupBroadcastFirst(m);
        if (scalar == m) {
            uint sum = subgroupAdd(scalar * 3u);
            if (subgroupElect())
                atomicAdd(cost, sum);
            break;
        }
    }
}
