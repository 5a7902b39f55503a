// glslang: WavePrefixSum includes the lane's own value (vkgroup corrects it). Each lane writes 1 if its sum is wrong.
//     vkgroup run shaders/findings/compilers/glslang_prefix_sum.hlsl --compiler glslang --stage compute --groups 1 \
//         --device reference --out result=uint32[32]:result.npy
RWStructuredBuffer<uint> result : register(u0);

[numthreads(32, 1, 1)]
void main(uint lane : SV_GroupIndex) {
    uint below = WavePrefixCountBits(true);
    result[lane] = WavePrefixSum(1u) == below ? 0u : 1u;
}
