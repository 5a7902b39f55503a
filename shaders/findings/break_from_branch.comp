#version 460
// NVIDIA 580.159 (H200): invocations that leave a switch by a break in a branch stay apart behind it, under maximal
// reconvergence. Less of the shader is right: without the else, and with one loop in it.
//
//     python -c "import numpy; numpy.save('numbers.npy', numpy.arange(32, dtype=numpy.uint32))"
//     vkgroup run shaders/findings/break_from_branch.comp --groups 1 --in Constants=numbers.npy \
//         --out Log=uint32[128]:log.npy
//
// Constants: words that are their own number, which no compiler can know.
// Log: four rows of 32: what each invocation's first record is (1 or 2) and its ballot, then the second (3) and its
// ballot. From lane 26 on the last row must be 0xfc000000, the ballot of all six; the H200 has 0x6c000000 and
// 0x90000000 there, the ballots of the two arms.
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
        // All six have left the switch.
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
