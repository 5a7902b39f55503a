// All levels of an image in one dispatch, with quad operations and shuffles.
//
// Four neighbors in Z order are a quad, 16 are four quads, and so on, so a level needs two exchanges within
// the subgroup. When texels of one square lie in different subgroups, the remaining texels are packed through
// shared memory into the first lanes, which continue. (A device with quads has subgroups of at least four
// lanes.)
//
// image: the input. texels: its levels. See pyramid.glsl.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_quad : require
#include "pyramid.glsl"

shared TEXEL packed[WORKGROUP];

void reduce_tile(TEXEL value, uint index) {
    uint side = SIDE / 2u, held = 1u; // every held-th invocation has a valid texel
    for (uint count = WORKGROUP / 4u; count > 0u && made < levels; count /= 4u) {
        if (held * 4u > gl_SubgroupSize) {
            if (index % held == 0u)
                packed[index / held] = value;
            barrier();
            value = packed[min(index, 4u * count - 1u)];
            barrier();
            held = 1u;
        }
        // As in mean(): a single column or row is used twice.
        TEXEL beside = held == 1u ? subgroupQuadSwapHorizontal(value) : subgroupShuffleXor(value, held);
        value += size.x == 1u ? value : beside;
        TEXEL below = held == 1u ? subgroupQuadSwapVertical(value) : subgroupShuffleXor(value, 2u * held);
        value = (value + (size.y == 1u ? value : below)) * 0.25;
        held *= 4u;
        begin_level();
        if (index % held == 0u && index / held < count)
            store(tile * side + block_position(index / held), value);
        side /= 2u;
    }
}

void main() {
    make_levels(gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID);
}
