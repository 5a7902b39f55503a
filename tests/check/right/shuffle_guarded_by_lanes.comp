// Forward difference of a signal. A neighbour in another lane is asked for by shuffle where that lane exists
// and holds the next element, and read from memory elsewhere.
#version 460
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Signal { float signal[]; };
layout(binding = 1) writeonly buffer Difference { float difference[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint end = uint(signal.length());
    float here = signal[i];
    uvec4 awake = subgroupBallot(true);
    uint lane = gl_SubgroupInvocationID;
    float next = subgroupShuffleDown(here, 1u);
    uint whose = subgroupShuffleDown(i, 1u);
    bool there = lane + 1u < gl_SubgroupSize && subgroupBallotBitExtract(awake, lane + 1u);
    if (!there || whose != i + 1u)
        next = i + 1u < end ? signal[i + 1u] : here;
    difference[i] = next - here;
}
