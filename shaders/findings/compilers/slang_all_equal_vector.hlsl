// Slang: WaveActiveAllEqual of a vector returns one Boolean instead of one for each component.
//     vkgroup run shaders/findings/compilers/slang_all_equal_vector.hlsl --compiler slang --stage compute --groups 1 \
//         --device reference --out result=uint32[32]:result.npy
RWStructuredBuffer<uint> result : register(u0);

[numthreads(32, 1, 1)]
void main(uint lane : SV_GroupIndex) {
    result[lane] = WaveActiveAllEqual(uint2(lane, 7u)).y ? 0u : 1u;
}
