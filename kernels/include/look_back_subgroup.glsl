// The look-back of one tile by the lanes of a subgroup.
//
// A row has one tile per lane of a subgroup, and begins at a multiple of the subgroup size. DEPTH rows are a
// group, which begins at a multiple of DEPTH rows; its last tile is the leader. The leader waits for the
// aggregates of the group and scans them row by row. Then it waits for the prefix of the previous group, and
// adds it to all tiles. From one group's prefix to the next there is one memory round trip whose latency
// cannot be hidden, so nothing else is done in between. A long array needs at least one such round trip per
// group.
//
// Macros: COMBINE(a, b), IDENTITY, SUBGROUP_SCAN(x), the inclusive scan of the lanes, for CARRIED, and
//   DEPTH  rows of a group
#ifndef LOOK_BACK_SUBGROUP_GLSL
#define LOOK_BACK_SUBGROUP_GLSL

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "look_back.glsl"

#ifndef DEPTH
#define DEPTH 2
#endif

shared bool shared_available;
shared uint shared_missing;
shared CARRIED shared_before;

// The tile that a lane has of a row.
uint tile_of(uint row) {
    return row * gl_SubgroupSize + gl_SubgroupInvocationID;
}

// Whether a tile's workgroup publishes the prefixes of its group.
bool leads(uint tile) {
    return (tile + 1u) % (gl_SubgroupSize * DEPTH) == 0u || tile == tiles() - 1u;
}

// Read this lane's tile of a row, unless it is known. Tiles after `last` are neutral.
void read_tile_of(uint row, uint last, Known own, inout Known known) {
    uint tile = tile_of(row);
    if (tile > last)
        known = Known(PRESENT, IDENTITY);
    else if (tile == last)
        known = own;
    else if (known.status == ABSENT)
        known = read_aggregate(tile);
}

// The combination of a row's tiles from its beginning.
struct RowSum {
    CARRIED sum;
    bool open;    // no segment begins among them, so the prefix before the row must be added
};

// Scan the tiles of a row, one per lane.
RowSum scan_row_of_tiles(Known known) {
#if HEADS
    // In steps of doubling distance, none of which crosses the head that is nearest before.
    uvec4 heads = subgroupBallot(known.status == HEADED) & gl_SubgroupLeMask;
    bool open = subgroupBallotBitCount(heads) == 0u;
    uint first = open ? 0u : subgroupBallotFindMSB(heads);
    CARRIED sum = known.value;
    for (uint distance = 1u; distance < gl_SubgroupSize; distance *= 2u) {
        CARRIED other = subgroupShuffleUp(sum, distance);
        if (gl_SubgroupInvocationID >= first + distance)
            sum = COMBINE(other, sum);
    }
    return RowSum(sum, open);
#else
    return RowSum(SUBGROUP_SCAN(known.value), true);
#endif
}

// What a lane has scanned, for all lanes.
RowSum scanned_in(RowSum scanned, uint lane) {
#if HEADS
    return RowSum(subgroupShuffle(scanned.sum, lane), subgroupShuffle(uint(scanned.open), lane) != 0u);
#else
    return RowSum(subgroupShuffle(scanned.sum, lane), true);
#endif
}

CARRIED add_to(CARRIED before, RowSum scanned) {
    return scanned.open ? COMBINE(before, scanned.sum) : scanned.sum;
}

// Wait for the aggregates of the rows from `first` on. All lanes of one subgroup call it.
bool await_rows(uint first, uint tile, Known own, out Known known[DEPTH]) {
    [[unroll]] for (uint k = 0u; k < DEPTH; ++k)
        known[k] = Known(ABSENT, IDENTITY);
    for (uint spins = SPINS;; --spins) {
        bool whole = true;
        [[unroll]] for (uint k = 0u; k < DEPTH; ++k) {
            read_tile_of(first + k, tile, own, known[k]);
            whole = whole && known[k].status != ABSENT;
        }
        if (subgroupAll(whole))
            return true;
        if (spins == 0u)
            return false;
    }
}

// Publish the prefixes of all tiles of the group that `tile` leads, if all required states arrive before the
// limit of reads. `before`: the prefix of the previous tile. Called by all lanes of one subgroup.
bool lead(uint tile, Known own, out CARRIED before) {
    uint row = tile / gl_SubgroupSize, lane = tile % gl_SubgroupSize, first = row - row % DEPTH;
    Known known[DEPTH];
    if (!await_rows(first, tile, own, known))
        return false;
    RowSum scanned[DEPTH], ends[DEPTH], own_sum;
    [[unroll]] for (uint k = 0u; k < DEPTH; ++k) {
        scanned[k] = scan_row_of_tiles(known[k]);
        ends[k] = scanned_in(scanned[k], gl_SubgroupSize - 1u);
        if (first + k == row)
            own_sum = scanned_in(scanned[k], lane);
    }
    // The next group, and all later groups, wait for this tile's prefix.
    CARRIED base = IDENTITY;
    bool available = first == 0u;
    if (subgroupElect()) {
        available = available || await_prefix(first * gl_SubgroupSize - 1u, base);
        if (available) {
            CARRIED prefix = base;
            [[unroll]] for (uint k = 0u; k < DEPTH; ++k)
                if (first + k < row)
                    prefix = add_to(prefix, ends[k]);
            publish_prefix(tile, add_to(prefix, own_sum));
        }
    }
    if (!subgroupAny(available))
        return false;
    base = subgroupBroadcastFirst(base);
    [[unroll]] for (uint k = 0u; k < DEPTH; ++k) {
        CARRIED prefix = add_to(base, scanned[k]);
        if (tile_of(first + k) < tile)
            publish_prefix(tile_of(first + k), prefix);
        if (first + k == row)
            before = lane == 0u ? base : subgroupShuffle(prefix, lane - 1u);
        base = add_to(base, ends[k]);
    }
    return true;
}

// Find the nearest row before `row` whose prefix is there. Returns the row behind it and that prefix, or row
// 0. All lanes of one subgroup call it.
uint nearest_row(uint row, out CARRIED before) {
    for (uint first = 0u; first < row; first += gl_SubgroupSize) {
        uint back = first + gl_SubgroupInvocationID;
        CARRIED prefix = IDENTITY;
        bool available = back < row && read_prefix((row - back) * gl_SubgroupSize - 1u, prefix);
        uvec4 all = subgroupBallot(available);
        if (subgroupBallotBitCount(all) != 0u) {
            uint nearest = subgroupBallotFindLSB(all);
            before = subgroupShuffle(prefix, nearest);
            return row - first - nearest;
        }
    }
    before = IDENTITY;
    return 0u;
}

// Compute the prefix before a tile without depending on other workgroups: row by row from the nearest known
// prefix; states that remain missing are computed here. Called by all invocations of the workgroup.
CARRIED work_out(uint tile, Known own) {
    uint last = tile / gl_SubgroupSize, row = 0u, spins = SPINS;
    Known known = Known(ABSENT, IDENTITY);
    CARRIED row_before, before = IDENTITY;
    if (gl_SubgroupID == 0u)
        row = nearest_row(last, row_before);
    for (;;) {
        if (gl_SubgroupID == 0u) {
            uint missing = NO_TILE;
            while (row <= last && missing == NO_TILE) {
                read_tile_of(row, tile, own, known);
                uvec4 absent = subgroupBallot(known.status == ABSENT);
                if (subgroupBallotBitCount(absent) != 0u) {
                    if (spins == 0u)
                        missing = row * gl_SubgroupSize + subgroupBallotFindLSB(absent);
                    else
                        --spins;
                    continue;
                }
                RowSum scanned = scan_row_of_tiles(known);
                CARRIED prefix = add_to(row_before, scanned);
                if (row == last) {
                    uint lane = tile % gl_SubgroupSize;
                    before = lane == 0u ? row_before : subgroupShuffle(prefix, lane - 1u);
                    if (leads(tile) && gl_SubgroupInvocationID == lane)
                        publish_prefix(tile, prefix);
                }
                row_before = subgroupShuffle(prefix, gl_SubgroupSize - 1u);
                known = Known(ABSENT, IDENTITY);
                ++row;
            }
            if (subgroupElect()) {
                shared_missing = missing;
                shared_before = before;
            }
        }
        barrier();
        uint missing = shared_missing;
        if (missing == NO_TILE)
            return shared_before;
        Known recomputed = recompute(missing);    // has a barrier, so all have read shared_missing
        if (gl_SubgroupID == 0u && tile_of(row) == missing)
            known = recomputed;
    }
}

// Return the prefix before a tile to all invocations of the workgroup; `own`, the tile's aggregate, is used
// only in the first subgroup. Contains a barrier.
CARRIED find_before(uint tile, Known own) {
    if (gl_SubgroupID == 0u) {
        CARRIED before = IDENTITY;
        bool available = tile == 0u;
        if (leads(tile))
            available = lead(tile, own, before);
        else if (!available && subgroupElect())
            available = await_prefix(tile - 1u, before);
        if (subgroupElect()) {
            shared_available = available;
            shared_before = before;
        }
    }
    barrier();
    return shared_available ? shared_before : work_out(tile, own);
}

#endif
