// The second workgroup waits until the first is done, whose flag has another place.
#version 460
layout(local_size_x = 1) in;
layout(binding = 0) coherent buffer Flags { uint flags[]; };
layout(binding = 1) buffer Data { uint data[]; };
void main() {
    uint g = gl_WorkGroupID.x;
    if (g > 0u) {
        while (atomicOr(flags[g], 0u) == 0u) { // expect: hang
        }
    }
    memoryBarrierBuffer();
    data[g] += 1u;
    atomicExchange(flags[gl_NumWorkGroups.x - 1u - g], 0u);
}
