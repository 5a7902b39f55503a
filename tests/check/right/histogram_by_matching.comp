// Histogram where lanes with the same bin are counted together before one of them adds.
#version 460
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_vote : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Samples { uint samples[]; };
layout(binding = 1) buffer Bins { uint bins[16]; };
void main() {
    uint bin = samples[gl_GlobalInvocationID.x] >> 2;
    bool done = false;
    while (!done) {
        uint leader = subgroupBroadcastFirst(bin);
        if (bin == leader) {
            uint count = subgroupBallotBitCount(subgroupBallot(true));
            if (subgroupElect())
                atomicAdd(bins[leader], count);
            done = true;
        }
    }
}
