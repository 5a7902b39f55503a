// All levels of a picture in one dispatch, with shared memory.
//
// For each level, four times as many invocations as it has texels put theirs into shared memory, and after a
// barrier each fourth of them reads four. In Z order these four have numbers that follow each other; they are
// put into four planes, whose distance lets neither the writes nor the reads of neighbours meet in one bank.
// Two sets of planes take turns, so that one barrier a level is enough.
//
// image: the picture. texels: its levels. See pyramid.glsl.
#version 460
#include "pyramid.glsl"

const uint PLANE = WORKGROUP / 4u + 8u;

shared TEXEL planes[8u * PLANE];

void reduce_tile(TEXEL value, uint index) {
    uint first = 0u, side = SIDE / 2u;
    for (uint count = WORKGROUP / 4u; count > 0u && made < levels; count /= 4u) {
        if (index < 4u * count)
            planes[first + index % 4u * PLANE + index / 4u] = value;
        barrier();
        if (index < count) {
            uint at = first + index;
            value = mean(planes[at], planes[at + PLANE], planes[at + 2u * PLANE], planes[at + 3u * PLANE]);
        }
        begin_level();
        if (index < count)
            store(tile * side + place(index), value);
        side /= 2u;
        first = 4u * PLANE - first;
    }
}

void main() {
    make_levels(gl_LocalInvocationIndex);
}
