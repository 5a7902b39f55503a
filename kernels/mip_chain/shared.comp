// All levels of an image in one dispatch, with shared memory.
//
// For each level, four invocations per texel write their texels to shared memory, and after a barrier one of
// the four reads all of them. In Z order these four invocations are consecutive. Their texels are written to
// four planes, whose distance avoids bank conflicts of both writes and reads. Levels alternate between two
// sets of planes, so one barrier per level is sufficient.
//
// image: the input. texels: its levels. See pyramid.glsl.
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
            store(tile * side + block_position(index), value);
        side /= 2u;
        first = 4u * PLANE - first;
    }
}

void main() {
    make_levels(gl_LocalInvocationIndex);
}
