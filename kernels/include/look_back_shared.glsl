// The look-back of one tile by a workgroup, through shared memory and without subgroup operations.
//
// A row is GROUP tiles, from a multiple of that number on, and its last tile leads it: see
// look_back_subgroup.glsl, whose rows are shorter. The leader's invocations read one aggregate each, and scan
// them in shared memory.
//
// Macros: COMBINE(a, b), IDENTITY for CARRIED, and
//   GROUP  (specialization constant 13) tiles of a row
#ifndef LOOK_BACK_SHARED_GLSL
#define LOOK_BACK_SHARED_GLSL

#include "look_back.glsl"

layout(constant_id = 13) const uint GROUP = 64u;

shared bool shared_available;
shared uint shared_row;
shared uint shared_missing;
shared CARRIED shared_before;

// The tiles of a row, and then their prefixes; twice, since a scan's rounds read one half and write the
// other.
shared uint row_status[2u * GROUP];
shared CARRIED row_value[2u * GROUP];

// Whether a tile's workgroup publishes the prefixes of its row.
bool leads(uint tile) {
    return tile % GROUP == GROUP - 1u || tile == tiles() - 1u;
}

// Discard the states of the last row.
void clear_row() {
    for (uint i = gl_LocalInvocationIndex; i < GROUP; i += WORKGROUP)
        row_status[i] = ABSENT;
}

// Wait for the missing tiles of a row, up to the limit of reads. Tiles after `last` are neutral. Each
// invocation reads its own tile; a barrier must follow.
void read_row(uint row, uint last, Known own) {
    for (uint i = gl_LocalInvocationIndex; i < GROUP; i += WORKGROUP) {
        uint tile = row * GROUP + i;
        Known known = Known(row_status[i], row_value[i]);
        if (tile > last)
            known = Known(PRESENT, IDENTITY);
        else if (tile == last)
            known = own;
        for (uint spins = SPINS; known.status == ABSENT; --spins) {
            known = read_aggregate(tile);
            if (spins == 0u)
                break;
        }
        row_status[i] = known.status;
        row_value[i] = known.value;
        if (known.status == ABSENT)
            atomicMin(shared_missing, tile);
    }
}

// Scan the row, in rounds of doubling distance. Afterwards a HEADED tile is one behind the beginning of a
// segment, to which nothing is to be added. Returns where in row_status and row_value the result is. Begins
// and ends with a barrier.
uint scan_row_of_tiles() {
    uint from = 0u;
    barrier();
    for (uint distance = 1u; distance < GROUP; distance *= 2u) {
        uint to = GROUP - from;
        for (uint i = gl_LocalInvocationIndex; i < GROUP; i += WORKGROUP) {
            uint status = row_status[from + i];
            CARRIED value = row_value[from + i];
            if (i >= distance && status != HEADED) {
                value = COMBINE(row_value[from + i - distance], value);
                status = row_status[from + i - distance];
            }
            row_status[to + i] = status;
            row_value[to + i] = value;
        }
        from = to;
        barrier();
    }
    return from;
}

// The prefix of tile i of the scanned row; `before`: that of the row before.
CARRIED prefix_at(uint at, uint i, CARRIED before) {
    return row_status[at + i] == HEADED ? row_value[at + i] : COMBINE(before, row_value[at + i]);
}

// Find the nearest row before `row` whose prefix is there. Returns the row behind it and that prefix, or row
// 0.
uint nearest_row(uint row, out CARRIED before) {
    for (; row != 0u; --row)
        if (read_prefix(row * GROUP - 1u, before))
            return row;
    before = IDENTITY;
    return 0u;
}

// Wait for the tiles of the row that `tile` leads and for the prefix of the previous row, and publish the
// row's prefixes. Returns false if the limit of reads was reached. `before`: the prefix of the previous tile.
// Called by all invocations of the workgroup.
bool lead(uint tile, Known own, out CARRIED before) {
    uint row = tile / GROUP;
    clear_row();
    if (gl_LocalInvocationIndex == 0u)
        shared_missing = NO_TILE;
    barrier();
    read_row(row, tile, own);
    uint at = scan_row_of_tiles();    // also with tiles missing
    if (gl_LocalInvocationIndex == 0u) {
        before = IDENTITY;
        shared_available = shared_missing == NO_TILE && (row == 0u || await_prefix(row * GROUP - 1u, before));
        shared_before = before;
        // The next row, and all later rows, wait for this prefix.
        if (shared_available)
            publish_prefix(tile, prefix_at(at, tile - row * GROUP, before));
    }
    barrier();
    before = shared_before;
    for (uint i = gl_LocalInvocationIndex; shared_available && i < tile - row * GROUP; i += WORKGROUP)
        publish_prefix(row * GROUP + i, prefix_at(at, i, before));
    if (tile != row * GROUP)
        before = prefix_at(at, tile - row * GROUP - 1u, before);
    return shared_available;
}

// Compute the prefix before a tile without depending on other workgroups: row by row from the nearest known
// prefix; states that remain missing are computed here. Called by all invocations of the workgroup.
CARRIED work_out(uint tile, Known own) {
    barrier();    // all have read the shared values
    uint last = tile / GROUP;
    if (gl_LocalInvocationIndex == 0u) {
        CARRIED nearest;
        shared_row = nearest_row(last, nearest);
        shared_before = nearest;
    }
    barrier();
    CARRIED before = shared_before;
    for (uint row = shared_row;; ++row) {
        clear_row();
        for (uint missing = 0u; missing != NO_TILE;) {
            barrier();    // all have read shared_missing
            if (gl_LocalInvocationIndex == 0u)
                shared_missing = NO_TILE;
            barrier();
            read_row(row, tile, own);
            barrier();
            missing = shared_missing;
            if (missing != NO_TILE) {
                Known recomputed = recompute(missing);
                if (gl_LocalInvocationIndex == (missing - row * GROUP) % WORKGROUP) {
                    row_status[missing - row * GROUP] = recomputed.status;
                    row_value[missing - row * GROUP] = recomputed.value;
                }
            }
        }
        uint at = scan_row_of_tiles();
        if (row == last) {
            if (leads(tile) && gl_LocalInvocationIndex == 0u)
                publish_prefix(tile, prefix_at(at, tile - row * GROUP, before));
            return tile == row * GROUP ? before : prefix_at(at, tile - row * GROUP - 1u, before);
        }
        before = prefix_at(at, GROUP - 1u, before);
        barrier();    // all have read the row's end
    }
}

// Return the prefix before a tile to all invocations of the workgroup; `own` is the tile's aggregate.
// Contains a barrier.
CARRIED find_before(uint tile, Known own) {
    CARRIED before = IDENTITY;
    bool available;
    if (leads(tile)) {
        available = lead(tile, own, before);
    } else {
        if (gl_LocalInvocationIndex == 0u) {
            shared_available = tile == 0u || await_prefix(tile - 1u, before);
            shared_before = before;
        }
        barrier();
        available = shared_available;
        before = shared_before;
    }
    return available ? before : work_out(tile, own);
}

#endif
