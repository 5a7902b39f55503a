// DXC: wave operations of a pixel shader include helper lanes.
//     vkgroup run shaders/findings/compilers/dxc_helper_lanes.hlsl --compiler dxc --stage fragment --size 3,3 \
//         --out result=uint32[9]:result.npy
// writes the number of lanes that WaveActiveSum counts. Each quad of the 3 by 3 pixels adds its helper lanes, so
// the sum over all waves is more than 9.
RWStructuredBuffer<uint> result : register(u0);

void main(float4 position : SV_Position) {
    result[uint(position.y) * 3u + uint(position.x)] = WaveActiveSum(1u);
}
