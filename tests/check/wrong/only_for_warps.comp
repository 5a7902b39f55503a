// Doubles values, where the author's machine is at hand.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer Values { uint values[]; };
void main() {
    if (gl_SubgroupSize != 32u) // expect: assumes
        return;
    values[gl_GlobalInvocationID.x] *= 2u;
}
