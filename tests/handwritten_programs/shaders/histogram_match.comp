#version 460
// Histogram with one atomic for all invocations of a subgroup that hit the same bin: they find each other in a loop.
// values: one uint an invocation. counts: how many values fall into each bin, which is the value modulo the number of
// bins; 0 before.
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) buffer Counts { uint counts[]; };

void main() {
    uint mine = values[gl_GlobalInvocationID.x] % uint(counts.length());
    bool counted = false;
    while (!counted) {
        uint bin = subgroupBroadcastFirst(mine);
        if (bin == mine) {
            uint hits = subgroupBallotBitCount(subgroupBallot(true));
            if (subgroupElect()) atomicAdd(counts[bin], hits);
            counted = true;
        }
    }
}
