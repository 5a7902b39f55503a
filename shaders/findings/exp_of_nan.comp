#version 460
// exp() of NaN, 0 and -infinity, with the execution mode SignedZeroInfNanPreserve for float. It writes the
// bits of the three results. No sentence requires that the first is NaN. Run it with
//   vkgroup run shaders/findings/exp_of_nan.comp --device D --groups 1 --in x=x.npy --out result=uint32[3]:result.npy
// where x.npy has the float32 numbers NaN, 0 and -infinity.
#extension GL_EXT_spirv_intrinsics : require
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);
layout(local_size_x = 3) in;
layout(std430, binding = 0) readonly buffer Numbers { float x[]; };
layout(std430, binding = 1) writeonly buffer Results { uint result[]; };

void main() {
    uint index = gl_LocalInvocationIndex;
    result[index] = floatBitsToUint(exp(x[index]));
}
