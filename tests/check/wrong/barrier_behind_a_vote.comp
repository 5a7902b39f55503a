// Skips the exchange where no lane of the subgroup needs it: a decision of subgroups, not of the workgroup.
#version 460
#extension GL_KHR_shader_subgroup_vote : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer Data { uint data[]; };
shared uint exchange[64];
void main() {
    uint t = gl_LocalInvocationIndex;
    uint v = data[gl_GlobalInvocationID.x];
    exchange[t] = 0u;
    barrier();
    if (subgroupAny(v > 60u)) {
        exchange[t] = v;
        barrier(); // expect: barrier
    }
    data[gl_GlobalInvocationID.x] = exchange[t] + v;
}
