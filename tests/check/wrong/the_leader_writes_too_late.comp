// The elected lane fetches a parameter for the whole workgroup.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Parameters { uint parameter[]; };
layout(binding = 1) buffer Data { uint data[]; };
shared uint scale;
void main() {
    barrier();
    if (gl_LocalInvocationIndex == 0u)
        scale = parameter[gl_WorkGroupID.x];
    data[gl_GlobalInvocationID.x] *= scale; // expect: race
}
