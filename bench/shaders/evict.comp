#version 460
// Reads a whole buffer, so that a smaller cache holds no other data afterwards.
//
// memory: any size that is a multiple of 16 bytes, any contents. result: receives an unused sum, since a
// compiler could remove the reads if nothing were written.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer Memory { uvec4 memory[]; };
layout(set = 0, binding = 1) buffer Result { uint result; };

void main() {
    uvec4 sum = uvec4(0);
    const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint index = gl_GlobalInvocationID.x; index < memory.length(); index += step)
        sum ^= memory[index];
    // Only one value in 2^32 is written, so almost no invocation writes, but the compiler cannot prove it.
    if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 0x9e3779b9u) result = sum.x;
}
