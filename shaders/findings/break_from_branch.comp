#version 460
// NVIDIA 580.159 (H200): invocations that exit a switch by a break in a branch do not reconverge after it, under maximal
// reconvergence. Smaller shaders give correct results: without the else, or with one loop in it.
//
//     python -c "import numpy; numpy.save('numbers.npy', numpy.arange(32, dtype=numpy.uint32))"
//     vkgroup run shaders/findings/break_from_branch.comp --groups 1 --in Constants=numbers.npy \
//         --out Log=uint32[128]:log.npy
//
// Constants: word i contains i; read from memory, so that the compiler does not know it.
// Log: four rows of 32: each invocation's first record (1 or 2) and its ballot, then its second record (3) and its
// ballot. From lane 26 on the last row must be 0xfc000000, the ballot of all six; the H200 has 0x6c000000 and
// 0x90000000 there, the ballots of the two branches.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_spirv_intrinsics : require
#extension GL_KHR_shader_subgroup_ballot : require
spirv_execution_mode(extensions = ["SPV_KHR_maximal_reconvergence"], 6023);

layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Constants { uint constants[]; };
layout(std430, binding = 2) writeonly buffer Log { uint log_words[]; };

uint index;
uint lane;
uint count = 0u;

void record(uint place, uvec4 ballot) {
    uint at = count * 2u * 32u + index;
    log_words[at] = place;
    log_words[at + 32u] = ballot.x;
    ++count;
}

void main() {
    index = gl_WorkGroupID.x * 32u + gl_LocalInvocationIndex;
    lane = gl_SubgroupInvocationID;

    if (gl_LocalInvocationIndex >= constants[26]) {
        switch (constants[1]) {
        case 1u: {
        }
        case 3u: {
            if ((0x923680c8u >> lane & 1u) == 1u) {
                record(1u, subgroupBallot(true));
                break;
            }
            record(2u, subgroupBallot(true));
            break;
        }
        }
        // All six invocations have exited the switch.
        record(3u, subgroupBallot(true));
    } else {
        for (uint outer = 0u; outer < constants[1]; ++outer) {
            for (uint inner = 0u; inner < constants[1]; ++inner) {
                if ((0x7e778c03u >> lane & 1u) == 1u) {
                    break;
                }
            }
        }
    }
}
