#version 460
// Reads a buffer from one end to the other, so that a cache smaller than it holds nothing else afterwards.
//
// memory: any size that is a multiple of 16 bytes, any contents. result: takes a sum that is of no use; a
// device that could see that nothing is written could leave the reading out.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer Memory { uvec4 memory[]; };
layout(set = 0, binding = 1) buffer Result { uint result; };

void main() {
    uvec4 sum = uvec4(0);
    const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint index = gl_GlobalInvocationID.x; index < memory.length(); index += step)
        sum ^= memory[index];
    // One number in 2^32, so that almost no invocation writes, and none can be known not to.
    if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 0x9e3779b9u) result = sum.x;
}
