RWStructuredBuffer<uint4> data : register(u0);

[WaveOpsIncludeHelperLanes]
uint main(float4 at : SV_Position) : SV_Target
{
    data[0] = WaveActiveBallot(true);
    return QuadReadAcrossX(uint(at.x));
}
