// Chooses between the constants 0 and -1 with a branch, in a shader that keeps the signs of zeros.
#version 450
#extension GL_EXT_spirv_intrinsics : require
layout(local_size_x = 64) in;

// The capability and the execution mode SignedZeroInfNanPreserve, for 32 bits.
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);

// Before: zeros. After: the bits of 0 in the first four numbers, those of -1 in the others.
layout(binding = 0) buffer Result { uint result[]; };

void main() {
    uint at = gl_LocalInvocationIndex;
    float chosen = 0.0;
    if (result[at] + at > 3u)
        chosen = -1.0;
    result[at] = floatBitsToUint(chosen);
}
