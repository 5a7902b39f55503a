// The first subgroup prepares a table while the others go on.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Values { uint values[]; };
layout(binding = 1) writeonly buffer Results { uint results[]; };
shared uint table[64];
void main() {
    uint t = gl_LocalInvocationIndex;
    table[t] = values[t];
    if (gl_SubgroupID == 0u) {
        barrier(); // expect: barrier
    }
    results[gl_GlobalInvocationID.x] = table[t] * 2u;
}
