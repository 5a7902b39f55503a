// glslang: WaveGetLaneIndex in two functions declares the built-in input twice (vkgroup merges the variables).
//     vkgroup run shaders/findings/compilers/glslang_lane_twice.hlsl --compiler glslang --stage compute --groups 1 \
//         --device reference --out result=uint32[32]:result.npy
RWStructuredBuffer<uint> result : register(u0);

uint twice() { return 2u * WaveGetLaneIndex(); }

[numthreads(32, 1, 1)]
void main() {
    result[WaveGetLaneIndex()] = twice();
}
