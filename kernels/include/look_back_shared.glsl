// The look-back of one tile by a workgroup, through shared memory and without subgroup operations.
//
// GROUP tiles, from a multiple of that number on, are a group; what is published, and in which order values
// are added, is as look_back_subgroup.glsl says. The invocations read many states at once, one each; the
// first invocation then adds them up in order. Others would have to wait for each other at every level of a
// tree, for as long as the few additions take.
//
// Macros: COMBINE(a, b), IDENTITY for CARRIED, and
//   DEPTH  groups that are read at once
//   GROUP  (specialization constant 13) tiles of a group, a multiple of 8
//   HEADS  whether tiles may be HEADED
#ifndef LOOK_BACK_SHARED_GLSL
#define LOOK_BACK_SHARED_GLSL

#include "look_back.glsl"

#ifndef DEPTH
#define DEPTH 2
#endif
#ifndef HEADS
#define HEADS 0
#endif
layout(constant_id = 13) const uint GROUP = 32u;

// What was read: the ends of GROUP groups, the nearest first, then the tiles of DEPTH groups.
const uint SEEN = (DEPTH + 1u) * GROUP;
shared uint seen_status[SEEN];
shared CARRIED seen_value[SEEN];

// States of tiles that were computed here, each at its place in its group.
shared uint patch_tile[GROUP];
shared uint patch_status[GROUP];
shared CARRIED patch_value[GROUP];

// What the first invocation has decided.
const uint AGAIN = ~0u - 1u;
shared uint shared_next;      // NO_TILE: done. AGAIN: read again. Else the tile that is to be computed
shared uint shared_window;    // the first of the groups to be read
shared uint shared_ends;      // how many ends of groups to pass over
shared CARRIED shared_before;

// How far a look-back has come; in the first invocation.
struct Walk {
    uint tile;
    CARRIED aggregate;    // of the tile
    uint group;           // `before` is F(group); past the tile's own group, what comes before the tile
    CARRIED before;
    CARRIED through;      // of a group's last tile, when done: F of the next group
    uint missing;         // the tile that the walk waits for
    uint spins;           // polls that are left
};

// The window that ends with a tile's own group.
uint last_window(uint tile) {
    uint own = tile / GROUP;
    return own < DEPTH ? 0u : own + 1u - DEPTH;
}

// Called by all, with a barrier between this and the walk.
Walk start_walk(uint tile, CARRIED aggregate) {
    for (uint i = gl_LocalInvocationIndex; i < GROUP; i += WORKGROUP)
        patch_tile[i] = NO_TILE;
    if (gl_LocalInvocationIndex == 0u) {
        shared_window = last_window(tile);
        shared_ends = 0u;
    }
    return Walk(tile, aggregate, 0u, IDENTITY, IDENTITY, NO_TILE, SPINS);
}

bool ends_group(uint tile) {
    return tile % GROUP == GROUP - 1u;
}

// Read all states that the first invocation wants to see.
void read_states(uint tile) {
    uint own = tile / GROUP;
    for (uint i = gl_LocalInvocationIndex; i < SEEN; i += WORKGROUP) {
        CARRIED value = IDENTITY;
        uint status = ABSENT;
        if (i < GROUP) {
            uint back = shared_ends + i;
            if (back < own)
                status = read_state((own - back) * GROUP - 1u, value);
        } else {
            uint other = shared_window * GROUP + (i - GROUP);
            if (other >= tile) {
                status = AGGREGATE;    // of nothing
            } else if (patch_tile[other % GROUP] == other) {
                status = patch_status[other % GROUP];
                value = patch_value[other % GROUP];
            } else {
                status = read_state(other, value);
            }
        }
        seen_status[i] = status;
        seen_value[i] = value;
    }
}

// Add a group to the walk, its states being those from `at` on; false where one is absent. A prefix replaces
// all that came before.
bool fold(inout Walk walk, uint at) {
    CARRIED sum = IDENTITY;
    bool restart = false;
    uint missing = NO_TILE;
    // Eight at a time, so that the loads of eight are under way before the first is used.
    [[dont_unroll]] for (uint first = 0u; first < GROUP; first += 8u) {
        uint status[8];
        CARRIED value[8];
        [[unroll]] for (uint i = 0u; i < 8u; ++i) {
            status[i] = seen_status[at + first + i];
            value[i] = seen_value[at + first + i];
        }
        [[unroll]] for (uint i = 0u; i < 8u; ++i) {
            if (status[i] == ABSENT && missing == NO_TILE)
                missing = walk.group * GROUP + first + i;
            bool prefix = status[i] >= PREFIX;
            sum = prefix ? value[i] : COMBINE(sum, value[i]);
            missing = prefix ? NO_TILE : missing;
            restart = restart || prefix;
        }
    }
    if (missing != NO_TILE) {
        walk.missing = missing;
        return false;
    }
    CARRIED all = COMBINE(sum, walk.aggregate);
    walk.through = restart ? all : COMBINE(walk.before, all);
    walk.before = restart ? sum : COMBINE(walk.before, sum);
    walk.group++;
    return true;
}

// Take the nearest published F, if one was seen that is beyond what is known.
bool skip_ahead(inout Walk walk, uint own) {
    [[dont_unroll]] for (uint i = 0u; i < GROUP && shared_ends + i < own - walk.group; ++i) {
        if (seen_status[i] >= PREFIX) {
            walk.before = seen_value[i];
            walk.group = own - shared_ends - i;
            return true;
        }
    }
    return false;
}

// Make what can be made of what was seen, and decide what is next.
void decide(inout Walk walk) {
    uint own = walk.tile / GROUP;
    uint window = shared_window;
    bool nearby = false;    // nothing before the tile's own group is wanted
    if (HEADS != 0 && own < window + DEPTH)
        for (uint i = 0u; i < GROUP; ++i)
            nearby = nearby || seen_status[(1u + own - window) * GROUP + i] == HEADED;
    if (nearby) {
        walk.group = own;
    } else if (!skip_ahead(walk, own) && shared_ends + GROUP < own - walk.group) {
        shared_ends += GROUP;
        shared_next = AGAIN;
        return;
    }
    bool whole = true;
    while (whole && walk.group >= window && walk.group < window + DEPTH && walk.group <= own)
        whole = fold(walk, (1u + walk.group - window) * GROUP);
    shared_before = walk.before;
    shared_ends = 0u;
    shared_window = min(walk.group, last_window(walk.tile));
    shared_next = walk.group > own ? NO_TILE : whole || walk.spins != 0u ? AGAIN : walk.missing;
    if (!whole && walk.spins != 0u)
        walk.spins--;
}

// Go on until all that comes before the tile is known, or patience is at an end. Returns NO_TILE, or the tile
// that is waited for. Called by all of the workgroup.
uint advance(inout Walk walk) {
    for (;;) {
        read_states(walk.tile);
        barrier();
        if (gl_LocalInvocationIndex == 0u)
            decide(walk);
        barrier();
        if (shared_next != AGAIN)
            return shared_next;
    }
}

// Tell the walk the state of the tile that it waited for. Called by all.
void patch_walk(uint missing, Known found) {
    if (gl_LocalInvocationIndex == 0u) {
        patch_tile[missing % GROUP] = missing;
        patch_status[missing % GROUP] = found.status;
        patch_value[missing % GROUP] = found.value;
    }
    barrier();
}

// Return what comes before a tile, to all of the workgroup; `own`, what the tile comes to, matters in the
// first invocation only. Begins with a barrier.
CARRIED find_before(uint tile, Known own) {
    Walk walk = start_walk(tile, own.value);
    barrier();
    for (;;) {
        uint missing = advance(walk);
        if (missing == NO_TILE)
            break;
        patch_walk(missing, recompute(missing));
    }
    if (gl_LocalInvocationIndex == 0u && ends_group(tile) && own.status != HEADED)
        publish(tile, PREFIX, walk.through);
    return shared_before;
}

#endif
