#version 460
// Triangles of a graph given as bit rows: each invocation counts the common neighbours of the ends of its edges.
// rows: 96 vertices, a row of three words each. total: number of triangles; 0 before.
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 96) in;
layout(std430, binding = 0) readonly buffer Rows { uint rows[96][3]; };
layout(std430, binding = 1) buffer Total { uint total; };

void main() {
    uint me = gl_GlobalInvocationID.x, mine = 0u;
    // Every triangle once: me < other < third.
    for (uint word = me / 32u; word < 3u; word++) {
        uint others = rows[me][word];
        if (word == me / 32u) others &= ~(0xffffffffu >> (31u - me % 32u));
        for (; others != 0u; others &= others - 1u) {
            uint bit = uint(findLSB(others)), other = 32u * word + bit;
            for (uint k = word; k < 3u; k++) {
                uint both = rows[me][k] & rows[other][k];
                if (k == word) both &= ~(0xffffffffu >> (31u - bit));
                mine += uint(bitCount(both));
            }
        }
    }
    uint all = subgroupAdd(mine);
    if (subgroupElect()) atomicAdd(total, all);
}
