// Levels of an image: their layout, the formula of a texel, and the common part of both versions.
//
// Level n + 1 has half the width and height of level n, rounded down, but at least 1 (Vulkan 1.4, "Image
// Miplevel Sizing"). Its texel (x, y) is the mean of the texels (2x, 2y) to (2x + 1, 2y + 1). If a size is
// odd, the last column or row is not used. If a size is 1, the single column or row is used twice. So a texel
// of level n depends only on a square of 2ⁿ × 2ⁿ texels of the image, and squares are independent.
//
// A workgroup computes all levels of a tile, down to one texel. The texels of all tiles form the image of the
// next stage. Several workgroups contribute to one tile of the next stage, and the last one that finishes
// continues with it. Each workgroup increments the tile's counter after it has stored its texel, which
// releases the texel. The workgroup that finds all others counted has acquired their texels. No workgroup
// waits.
//
// TEXEL: float or vec4. BLOCK: texels in a row and a column of an invocation, 2 or 4. VECTOR: 1 if TEXEL is
// float, BLOCK is 4, and the image's width a multiple of four: then four texels are loaded at once.

#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require

#ifndef TEXEL
#define TEXEL float
#endif
#ifndef BLOCK
#define BLOCK 4
#endif
#ifndef VECTOR
#define VECTOR 0
#endif

layout(local_size_x = 256, local_size_x_id = 0) in;
layout(constant_id = 10) const uint SIDE = 16u; // invocations in a row and a column: SIDE² is the local size
#define WORKGROUP gl_WorkGroupSize.x

const uint TILE = BLOCK * SIDE;
const uint ALIGNMENT = 64u; // of levels, in texels

#if VECTOR
layout(std430, binding = 0) readonly buffer Image { vec4 image[]; };
#else
layout(std430, binding = 0) readonly buffer Image { TEXEL image[]; };
#endif
// The levels in sequence, each at a multiple of ALIGNMENT.
layout(std430, binding = 1) coherent buffer Levels { TEXEL texels[]; };
// The number of stored texels of each tile of the second and later stages. Initially zero.
layout(std430, binding = 2) buffer Counters { uint present[]; };
layout(push_constant) uniform Push {
    uint width, height, levels; // of the image, and number of smaller levels
};

shared bool comes_last;

uvec2 tile;        // this workgroup's, in its stage
uvec2 size;        // of the last level that was made
uint source;       // where that lies in `texels`
uint next;         // where the next one goes
uint made;         // number of computed levels

// The position of index `i` in its square: the bits of x and y alternate (Z order), so 4, 16, 64 …
// consecutive indices are a square.
uvec2 block_position(uint i) {
    uvec2 bits = uvec2(i, i >> 1) & 0x55555555u;
    bits = (bits | bits >> 1) & 0x33333333u;
    bits = (bits | bits >> 2) & 0x0f0f0f0fu;
    return (bits | bits >> 4) & 0x00ff00ffu;
}

// The mean of four texels of a level of this size: upper left, upper right, lower left, lower right.
TEXEL mean(TEXEL a, TEXEL b, TEXEL c, TEXEL d) {
    if (size.x == 1u) {
        b = a;
        d = c;
    }
    return ((a + b) + (size.y == 1u ? a + b : c + d)) * 0.25;
}

// Begins the next level: sets `size` to its size, and returns the size of the previous level.
void begin_level() {
    source = next;
    size = max(size / 2u, uvec2(1u));
    next += (size.x * size.y + ALIGNMENT - 1u) / ALIGNMENT * ALIGNMENT;
    ++made;
}

// Stores a texel of the current level.
void store(uvec2 at, TEXEL value) {
    if (at.x < size.x && at.y < size.y)
        texels[source + at.y * size.x + at.x] = value;
}

// A texel of the last level. Outside the level it is the nearest texel, which no stored texel depends on.
TEXEL texel(uvec2 at) {
    at = min(at, size - 1u);
#if !VECTOR
    if (made == 0u)
        return image[at.y * size.x + at.x];
#endif
    return texels[source + at.y * size.x + at.x];
}

// Computes the levels of this invocation's block, down to one texel, which is returned.
TEXEL reduce_block(uvec2 block) {
    TEXEL held[BLOCK * BLOCK];
#if VECTOR
    if (made == 0u) {
        [[unroll]] for (uint y = 0u; y < BLOCK; ++y) {
            uvec2 at = min(block * BLOCK + uvec2(0u, y), size - uvec2(4u, 1u));
            vec4 row = image[(at.y * size.x + at.x) / 4u];
            [[unroll]] for (uint x = 0u; x < BLOCK; ++x)
                held[y * BLOCK + x] = row[x];
        }
    } else
#endif
    {
        [[unroll]] for (uint y = 0u; y < BLOCK; ++y)
            [[unroll]] for (uint x = 0u; x < BLOCK; ++x)
                held[y * BLOCK + x] = texel(block * BLOCK + uvec2(x, y));
    }
    [[unroll]] for (uint side = BLOCK / 2u; side > 0u; side /= 2u) {
        if (made == levels)
            break;
        [[unroll]] for (uint y = 0u; y < side; ++y)
            [[unroll]] for (uint x = 0u; x < side; ++x) {
                uint at = 2u * y * BLOCK + 2u * x;
                held[y * BLOCK + x] = mean(held[at], held[at + 1u], held[at + BLOCK], held[at + BLOCK + 1u]);
            }
        begin_level();
        [[unroll]] for (uint y = 0u; y < side; ++y)
            [[unroll]] for (uint x = 0u; x < side; ++x)
                store(block * side + uvec2(x, y), held[y * BLOCK + x]);
    }
    return held[0];
}

// Computes the levels of a tile from the texels of its blocks; the last texel is stored by `index` 0.
void reduce_tile(TEXEL value, uint index);

// All stages. `index`: the index of this invocation in Z order.
void make_levels(uint index) {
    uvec2 tiles = (uvec2(width, height) + TILE - 1u) / TILE;
    uint number = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    if (number >= tiles.x * tiles.y)
        return;
    tile = uvec2(number % tiles.x, number / tiles.x);
    size = uvec2(width, height);
    source = next = made = 0u;
    uint counter = 0u;
    while (true) {
        reduce_tile(reduce_block(tile * SIDE + block_position(index)), index);
        if (made == levels)
            return;

        uvec2 after = (tiles + TILE - 1u) / TILE, parent = tile / TILE;
        if (index == 0u) {
            uvec2 children = min(tiles - parent * TILE, uvec2(TILE));
            uint before = atomicAdd(present[counter + parent.y * after.x + parent.x], 1u, gl_ScopeDevice,
                                    gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
            comes_last = before == children.x * children.y - 1u;
        }
        controlBarrier(gl_ScopeWorkgroup, gl_ScopeDevice,
                       gl_StorageSemanticsBuffer | gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
        if (!comes_last)
            return;
        barrier(); // all have read it before a later stage writes it
        counter += after.x * after.y;
        tiles = after;
        tile = parent;
    }
}
