// The look-back of one tile by the lanes of a subgroup.
//
// As many tiles as a subgroup has lanes, from a multiple of that number on, are a group. The prefix before
// group g is F(g), F(0) being the identity and F(g + 1) = F(g) + the sum over the lanes that hold the
// aggregates of group g. The last tile of each group publishes F of the next; nothing else is published as a
// prefix. What comes before a tile in group g is F(g) + the sum over the lanes that hold the tiles before it
// in its group. Whichever F was found published first, the same terms are added in the same order, so even
// sums of floats come out the same every time.
//
// Macros: COMBINE(a, b), IDENTITY, SUBGROUP_REDUCE(x) for CARRIED, and
//   DEPTH  groups that are read at once, the tile's own included; one read after the other would cost as many
//          trips to memory
#ifndef LOOK_BACK_SUBGROUP_GLSL
#define LOOK_BACK_SUBGROUP_GLSL

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "look_back.glsl"

#ifndef DEPTH
#define DEPTH 2
#endif

// How far a look-back has come; the same in all lanes but for the patch.
struct Walk {
    uint tile;
    CARRIED aggregate;    // of the tile
    uint group;           // `before` is F(group); past the tile's own group, what comes before the tile
    CARRIED before;
    CARRIED through;      // of a group's last tile, when done: F of the next group
    uint missing;         // the tile that the walk waits for
    uint spins;           // polls that are left
    uint patch_tile;      // the tile whose state this lane knows better than memory does
    uint patch_status;
    CARRIED patch_value;
};

Walk start_walk(uint tile, CARRIED aggregate) {
    return Walk(tile, aggregate, 0u, IDENTITY, IDENTITY, NO_TILE, SPINS, NO_TILE, ABSENT, IDENTITY);
}

// Whether the walk has to publish F of the next group.
bool ends_group(uint tile) {
    return tile % gl_SubgroupSize == gl_SubgroupSize - 1u;
}

// Each lane reads its tile of a group. Tiles from the walk's own on count as the identity.
uint read_group(Walk walk, uint group, out CARRIED value) {
    uint tile = group * gl_SubgroupSize + gl_SubgroupInvocationID;
    value = IDENTITY;
    if (tile >= walk.tile)
        return AGGREGATE;
    if (tile == walk.patch_tile) {
        value = walk.patch_value;
        return walk.patch_status;
    }
    return read_state(tile, value);
}

// Add a group to the walk; false where a tile of it is absent. A prefix in it replaces all that came before.
bool fold(inout Walk walk, uint status, CARRIED value) {
    uint last = gl_SubgroupSize - 1u;
    uvec4 prefixes = subgroupBallot(status >= PREFIX);
    bool restart = subgroupBallotBitCount(prefixes) != 0u;
    uint first = restart ? subgroupBallotFindMSB(prefixes) : 0u;
    uvec4 absent = subgroupBallot(status == ABSENT && gl_SubgroupInvocationID >= first);
    if (subgroupBallotBitCount(absent) != 0u) {
        walk.missing = walk.group * gl_SubgroupSize + subgroupBallotFindLSB(absent);
        return false;
    }
    if (gl_SubgroupInvocationID < first)
        value = IDENTITY;
    if (ends_group(walk.tile) && walk.group == walk.tile / gl_SubgroupSize) {
        CARRIED all = SUBGROUP_REDUCE(gl_SubgroupInvocationID == last ? walk.aggregate : value);
        walk.through = restart ? all : COMBINE(walk.before, all);
    }
    // The prefix of the last lane is F of the next group as it was published, and must stay so to the bit.
    CARRIED sum = restart && first == last ? subgroupShuffle(value, last) : SUBGROUP_REDUCE(value);
    walk.before = restart ? sum : COMBINE(walk.before, sum);
    walk.group++;
    return true;
}

// Find the nearest published F, if there is one beyond what is known.
void skip_ahead(inout Walk walk, uint own) {
    for (uint first = 0u; first < own - walk.group; first += gl_SubgroupSize) {
        uint back = first + gl_SubgroupInvocationID;
        CARRIED value = IDENTITY;
        uint status = ABSENT;
        if (back < own - walk.group)
            status = read_state((own - back) * gl_SubgroupSize - 1u, value);
        uvec4 found = subgroupBallot(status >= PREFIX);
        if (subgroupBallotBitCount(found) != 0u) {
            uint nearest = subgroupBallotFindLSB(found);
            walk.before = subgroupShuffle(value, nearest);
            walk.group = own - first - nearest;
            return;
        }
    }
}

// Go on until all that comes before the tile is known, or patience is at an end. Returns NO_TILE, or the tile
// that is waited for. Called by all lanes of one subgroup.
uint advance(inout Walk walk) {
    uint own = walk.tile / gl_SubgroupSize;
    for (;;) {
        CARRIED value[DEPTH];
        uint status[DEPTH];
        [[unroll]] for (uint k = 0u; k < DEPTH; ++k) {
            value[k] = IDENTITY;
            status[k] = k <= own ? read_group(walk, own - k, value[k]) : AGGREGATE;
        }
        if (subgroupAny(status[0] == HEADED))
            walk.group = own;    // nothing before that is wanted
        else
            skip_ahead(walk, own);
        bool whole = true;
        while (whole && walk.group + DEPTH <= own) {
            CARRIED far;
            uint far_status = read_group(walk, walk.group, far);
            whole = fold(walk, far_status, far);
        }
        [[unroll]] for (uint k = DEPTH - 1u; k < DEPTH; --k) {
            if (whole && walk.group + k == own)
                whole = fold(walk, status[k], value[k]);
        }
        if (whole)
            return NO_TILE;
        if (walk.spins == 0u)
            return walk.missing;
        walk.spins--;
    }
}

// Tell the walk the state of the tile that it waited for.
void patch_walk(inout Walk walk, Known found) {
    if (gl_SubgroupInvocationID == walk.missing % gl_SubgroupSize) {
        walk.patch_tile = walk.missing;
        walk.patch_status = found.status;
        walk.patch_value = found.value;
    }
}

shared uint shared_missing;
shared CARRIED shared_before;

// Return what comes before a tile, to all of the workgroup; `own`, what the tile comes to, matters in the
// first subgroup only. Contains a barrier.
CARRIED find_before(uint tile, Known own) {
    Walk walk = start_walk(tile, own.value);
    for (;;) {
        if (gl_SubgroupID == 0u) {
            uint missing = advance(walk);
            if (missing == NO_TILE && ends_group(tile) && own.status != HEADED && subgroupElect())
                publish(tile, PREFIX, walk.through);
            if (subgroupElect()) {
                shared_missing = missing;
                shared_before = walk.before;
            }
        }
        barrier();
        uint missing = shared_missing;
        if (missing == NO_TILE)
            return shared_before;
        Known found = recompute(missing);    // has a barrier, so shared_missing has been read by all
        if (gl_SubgroupID == 0u)
            patch_walk(walk, found);
    }
}

#endif
