// The look-back of one tile by the lanes of a subgroup.
//
// A row is as many tiles as a subgroup has lanes, from a multiple of that number on; DEPTH rows, from a multiple of
// DEPTH on, are a group. The prefix before group g is F(g), F(0) being the identity, and F(g + 1) = F(g) + the sums of
// the rows of group g, one after the other; the sum of a row is that over the lanes that hold the aggregates of its
// tiles. The last tile of each group publishes F of the next; nothing else is published as a prefix. What comes
// before a tile in group g is F(g) + the sums of the rows before its own + the sum over the lanes that hold the tiles
// before it in its row. Whichever F was found published first, the same terms are added in the same order, so even sums
// of floats come out the same every time.
//
// From F(g) to F(g + 1) it is one trip to memory, whose latency nothing hides: a long array takes at least that
// trip for each group. So groups are large (DEPTH), and all but that trip is done before F(g) is there.
//
// Who waits holds its elements in registers, and they are what a processor has too few of. With AHEAD nobody waits, if all
// goes as usual: a workgroup first computes what the tile comes to that is AHEAD tiles further on, and publishes it; then F,
// if the tile AHEAD / 2 further on ends a group, whose tiles have been published by then; and then finishes its tile, for
// which everything is known. The tile is read a second time, from the cache that the first time has left it in.
//
// Macros: COMBINE(a, b), IDENTITY, SUBGROUP_REDUCE(x) for CARRIED, and
//   DEPTH  rows of a group
//   AHEAD  (specialization constant 14) tiles; 0: each tile is read once
#ifndef LOOK_BACK_SUBGROUP_GLSL
#define LOOK_BACK_SUBGROUP_GLSL

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "look_back.glsl"

#ifndef DEPTH
#define DEPTH 4
#endif

layout(constant_id = 14) const uint AHEAD = 0u;

// How far a look-back has come; the same in all lanes but for the patch.
struct Walk {
    uint tile;
    CARRIED aggregate;    // of the tile
    uint row;             // the next row to add
    CARRIED before;       // what comes before that row; past the tile's own row, what comes before the tile
    CARRIED through;      // of a group's last tile, when done: F of the next group
    uint missing;         // the tile that the walk waits for
    uint spins;           // polls that are left
    uint patch_tile;      // the tile whose state this lane knows better than memory does
    uint patch_status;
    CARRIED patch_value;
};

// What a row comes to.
struct Row {
    CARRIED sum;        // of its tiles before the walk's own
    CARRIED through;    // of its tiles, the walk's own included
    bool restart;       // whether there is a prefix in it, which replaces all that came before
};

Walk start_walk(uint tile, CARRIED aggregate) {
    return Walk(tile, aggregate, 0u, IDENTITY, IDENTITY, NO_TILE, SPINS, NO_TILE, ABSENT, IDENTITY);
}

// Whether the walk has to publish F of the next group.
bool ends_group(uint tile) {
    return (tile + 1u) % (gl_SubgroupSize * DEPTH) == 0u;
}

// Each lane reads its tile of a row. Tiles from the walk's own on count as the identity.
uint read_row(Walk walk, uint row, out CARRIED value) {
    uint tile = row * gl_SubgroupSize + gl_SubgroupInvocationID;
    value = IDENTITY;
    if (tile >= walk.tile)
        return AGGREGATE;
    if (tile == walk.patch_tile) {
        value = walk.patch_value;
        return walk.patch_status;
    }
    return read_state(tile, value);
}

// The last lane of a row that has a prefix, or 0; `restart`: whether there is one.
uint first_wanted(uint status, out bool restart) {
    uvec4 prefixes = subgroupBallot(status >= PREFIX);
    restart = subgroupBallotBitCount(prefixes) != 0u;
    return restart ? subgroupBallotFindMSB(prefixes) : 0u;
}

// The first tile that a row lacks, or NO_TILE.
uint lacking(uint row, uint status) {
    bool restart;
    uint first = first_wanted(status, restart);
    uvec4 absent = subgroupBallot(status == ABSENT && gl_SubgroupInvocationID >= first);
    if (subgroupBallotBitCount(absent) == 0u)
        return NO_TILE;
    return row * gl_SubgroupSize + subgroupBallotFindLSB(absent);
}

// Add up a row that lacks nothing.
Row row_of(Walk walk, uint row, uint status, CARRIED value) {
    uint last = gl_SubgroupSize - 1u;
    Row found;
    uint first = first_wanted(status, found.restart);
    // The prefix of the last lane is F of the next group as it was published, and must stay so to the bit.
    bool published = found.restart && first == last;
    if (gl_SubgroupInvocationID < first)
        value = IDENTITY;
    found.sum = published ? subgroupShuffle(value, last) : SUBGROUP_REDUCE(value);
    found.through = IDENTITY;
    if (ends_group(walk.tile) && row == walk.tile / gl_SubgroupSize)
        found.through = SUBGROUP_REDUCE(gl_SubgroupInvocationID == last ? walk.aggregate : value);
    return found;
}

void add_row(inout Walk walk, Row row) {
    walk.through = row.restart ? row.through : COMBINE(walk.before, row.through);
    walk.before = row.restart ? row.sum : COMBINE(walk.before, row.sum);
    walk.row++;
}

// Find what comes before the tile in the usual case: all of its group is there, and then F of the group is, before
// patience is at an end. Otherwise the walk stays as it was, but for the polls.
bool find_at_once(inout Walk walk) {
    uint own = walk.tile / gl_SubgroupSize, first = own - own % DEPTH;
    CARRIED value[DEPTH];
    uint status[DEPTH];
    for (;; walk.spins--) {
        bool whole = true;
        [[unroll]] for (uint k = 0u; k < DEPTH; ++k)
            status[k] = read_row(walk, first + k, value[k]);
        [[unroll]] for (uint k = 0u; k < DEPTH; ++k)
            whole = whole && subgroupAll(status[k] != ABSENT);
        if (whole)
            break;
        if (walk.spins == 0u)
            return false;
    }
    Row rows[DEPTH];
    bool restarts = first == 0u;
    [[unroll]] for (uint k = 0u; k < DEPTH; ++k) {
        rows[k] = row_of(walk, first + k, status[k], value[k]);
        restarts = restarts || rows[k].restart;
    }
    CARRIED before = IDENTITY;
    while (!restarts && read_state(first * gl_SubgroupSize - 1u, before) < PREFIX)
        if (walk.spins-- == 0u) {
            walk.spins = 0u;
            return false;
        }
    walk.before = subgroupBroadcastFirst(before);
    walk.row = first;
    [[unroll]] for (uint k = 0u; k < DEPTH; ++k)
        if (first + k <= own)
            add_row(walk, rows[k]);
    return true;
}

// Find the nearest published F, if there is one beyond what is known.
void skip_ahead(inout Walk walk) {
    uint own = walk.tile / (gl_SubgroupSize * DEPTH);    // the tile's group
    uint known = walk.row / DEPTH;
    for (uint first = 0u; first + known < own; first += gl_SubgroupSize) {
        uint back = first + gl_SubgroupInvocationID;
        CARRIED value = IDENTITY;
        uint status = ABSENT;
        if (back + known < own)
            status = read_state((own - back) * gl_SubgroupSize * DEPTH - 1u, value);
        uvec4 found = subgroupBallot(status >= PREFIX);
        if (subgroupBallotBitCount(found) != 0u) {
            uint nearest = subgroupBallotFindLSB(found);
            walk.before = subgroupShuffle(value, nearest);
            walk.row = (own - first - nearest) * DEPTH;
            return;
        }
    }
}

// Go on, row by row, until all that comes before the tile is known. Returns NO_TILE, or a tile that is missing.
uint advance(inout Walk walk) {
    if (walk.missing == NO_TILE && find_at_once(walk))
        return NO_TILE;
    skip_ahead(walk);
    while (walk.row <= walk.tile / gl_SubgroupSize) {
        CARRIED value;
        uint status = read_row(walk, walk.row, value);
        walk.missing = lacking(walk.row, status);
        if (walk.missing != NO_TILE)
            return walk.missing;
        add_row(walk, row_of(walk, walk.row, status, value));
    }
    return NO_TILE;
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

// Return what comes before a tile, to all of the workgroup; `own`, what the tile comes to, matters in the first
// subgroup only, and only if F is to be published. Contains a barrier.
CARRIED find_before(uint tile, Known own, bool publishes) {
    Walk walk = start_walk(tile, own.value);
    for (;;) {
        if (gl_SubgroupID == 0u) {
            uint missing = advance(walk);
            if (publishes && missing == NO_TILE && ends_group(tile) && own.status != HEADED && subgroupElect())
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

// Publish F of the group behind a tile that ends one, and that another workgroup has computed.
void publish_group(uint tile) {
    Known own = Known(ABSENT, IDENTITY);
    if (gl_SubgroupID == 0u) {
        own.status = read_state(tile, own.value);
        if (subgroupElect())
            shared_missing = own.status;
    }
    barrier();
    bool absent = shared_missing == ABSENT;
    barrier();
    if (absent)
        own = recompute(tile);
    find_before(tile, own, true);
}

// With AHEAD: do what others will need. `job` counts workgroups. Returns the tile that the workgroup is to finish, or
// NO_TILE.
uint run_ahead(uint job, uint tiles) {
    if (job < tiles) {
        Known found = recompute(job);
        if (gl_SubgroupID == 0u && subgroupElect())
            publish(job, found.status, found.value);
    }
    barrier();    // what is shared is used again
    if (job >= AHEAD / 2u && job - AHEAD / 2u < tiles && ends_group(job - AHEAD / 2u)) {
        publish_group(job - AHEAD / 2u);
        barrier();
    }
    return job >= AHEAD && job - AHEAD < tiles ? job - AHEAD : NO_TILE;
}

#endif
