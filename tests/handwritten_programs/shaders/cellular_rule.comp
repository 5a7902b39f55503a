#version 460
// An elementary cellular automaton on a ring of 64 x 32 cells, 32 cells a word, all cells of a word at once.
// words: the cells, the lowest bit leftmost; every generation after the first is written behind the one before.

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint rule, generations; };
layout(std430, binding = 0) buffer Words { uint words[]; };

shared uint ring[gl_WorkGroupSize.x];

void main() {
    const uint length = gl_WorkGroupSize.x;
    uint me = gl_LocalInvocationIndex, middle = words[me];
    for (uint generation = 1u; generation <= generations; generation++) {
        ring[me] = middle;
        barrier();
        uint left = middle << 1 | ring[(me + length - 1u) % length] >> 31;
        uint right = middle >> 1 | ring[(me + 1u) % length] << 31;
        barrier();
        uint next = 0u;
        for (uint pattern = 0u; pattern < 8u; pattern++) {
            if ((rule >> pattern & 1u) == 0u) continue;
            uint matches = (pattern & 4u) != 0u ? left : ~left;
            matches &= (pattern & 2u) != 0u ? middle : ~middle;
            matches &= (pattern & 1u) != 0u ? right : ~right;
            next |= matches;
        }
        middle = next;
        words[generation * length + me] = middle;
    }
}
