// Decoupled look-back: target positions of this tile's keys by digit, from the states of earlier tiles.
//
// A tile has one word per digit: a status of two bits and a count of thirty bits. SUM is the number of keys
// in that tile alone, PREFIX the position after the last of them in the result. One atomic store writes both
// parts of a word, so relaxed atomics are sufficient: no other memory is read because of a status.
//
// Vulkan does not guarantee that other workgroups make progress, so no workgroup waits without limit. After
// SPINS reads of a word that is still EMPTY, the workgroup counts that tile's keys itself (the source of a
// pass does not change).

layout(constant_id = 20) const uint SPINS = 256u;   // unsuccessful reads before a workgroup counts itself
layout(constant_id = 21) const uint LOOK = 4u;      // words that are read at once, at least 1
layout(constant_id = 22) const uint MUTE = 0u;      // for tests: every MUTE-th tile never publishes anything
layout(constant_id = 23) const bool TICKETS = true; // tiles in the order of starting, not of gl_WorkGroupID

const uint EMPTY = 0u;
const uint SUM = 1u;
const uint PREFIX = 2u;
const uint COUNT = (1u << 30) - 1u;

// Number of digits of one invocation; an invocation's first digit is its number times DIGITS.
const uint DIGITS = (RADIX + WORKGROUP - 1u) / WORKGROUP;

shared uint tile_number;
shared uint missing_tiles;      // number of tiles up to one whose counts do not arrive; 0 if none
shared uint missing[RADIX];     // that tile's counts
shared uint target[RADIX];      // index of the digit's first key in the result, minus that in the sorted tile

// Passes alternate between two meanings of the two bits: PREFIX in one pass is EMPTY in the next, and every word
// is PREFIX at the end of a pass. So the words are cleared once, not before each pass.
uint word_of(uint route, uint kind, uint count) {
    return ((kind + ((route & ROUTE_ODD) != 0u ? 2u : 0u)) << 30) | count;
}

uint kind_of(uint route, uint word) {
    return ((word >> 30) + ((route & ROUTE_ODD) != 0u ? 2u : 0u)) & 3u;
}

void publish(uint route, uint tile, uint digit, uint kind, uint count) {
    if (MUTE == 0u || tile % max(MUTE, 1u) != 0u)
        atomicStore(state[tile * RADIX + digit], word_of(route, kind, count),
                    gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

// Begins a tile. Its number is visible to all invocations after the caller's next barrier().
void take_tile(uint invocation) {
    if (invocation == 0u) {
        tile_number = TICKETS ? atomicAdd(work.pass[push.pass].ticket, 1u)
                              : gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
        missing_tiles = 0u;
    }
}

// Publishes the number of this tile's keys with a digit.
void announce(uint route, uint tile, uint digit, uint total) {
    if (tile == 0u)
        publish(route, 0u, digit, PREFIX, work.base[push.pass * RADIX + digit] + total);
    else
        publish(route, tile, digit, SUM, total);
}

// Adds one more tile: `ahead` is the number of tiles whose keys are still to be added, `before` the sum so far.
void step_back(uint digit, uint count, inout uint ahead, inout uint before) {
    before += count;
    ahead -= 1u;
    if (ahead == 0u)
        before += work.base[push.pass * RADIX + digit];
}

// Adds the counts of tiles ahead - 1, ahead - 2, …, until a PREFIX is read, which sets ahead = 0, or SPINS reads
// returned EMPTY. The loop condition is tested before the loads.
void add_earlier_tiles(uint route, uint digit, inout uint ahead, inout uint before) {
    uint empty_reads = 0u;
    while (ahead > 0u && empty_reads < SPINS) {
        // Several words are loaded at once: the latency is long, and earlier tiles are most likely ready.
        uint words[LOOK];
        UNROLLED for (uint l = 0u; l < LOOK; ++l)
            words[l] = atomicLoad(state[(max(ahead, l + 1u) - (l + 1u)) * RADIX + digit],
                                  gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
        bool available = true;
        UNROLLED for (uint l = 0u; l < LOOK; ++l) {
            uint kind = kind_of(route, words[l]);
            available = available && ahead > 0u && kind != EMPTY;
            if (available) {
                if (kind == PREFIX) {
                    before += words[l] & COUNT;
                    ahead = 0u;
                } else {
                    step_back(digit, words[l] & COUNT, ahead, before);
                }
            } else if (l == 0u) {
                ++empty_reads;
            }
        }
    }
}

// Publishes the prefix of a digit for later tiles, and stores it for this workgroup.
void settle(uint route, uint tile, uint digit, uint before, uint total, uint start) {
    publish(route, tile, digit, PREFIX, before + total);
    target[digit] = before - start;
}

// Counts the keys of a tile, which is not the last one, by digit into `missing`. Called by all invocations of the
// workgroup.
void count_missing(uint route, uint tile, uint invocation) {
    for (uint d = invocation; d < RADIX; d += WORKGROUP)
        missing[d] = 0u;
    barrier();
    for (uint i = invocation; i < WORKGROUP * ITEMS; i += WORKGROUP) {
        KEY key = source_key(route, tile * (WORKGROUP * ITEMS) + i);
        atomicAdd(missing[digit_of(ordered(key), push.pass * RADIX_BITS)], 1u);
    }
    barrier();
}

// Fills `target` for all digits. For each digit of the invocation, `total` is the number of the tile's keys, and
// `start` the index of the first one in the sorted tile. Called by all invocations of the workgroup, to which
// `target` is visible afterwards.
void look_back(uint route, uint tile, uint invocation, uint total[DIGITS], uint start[DIGITS]) {
    const uint SETTLED = 0xffffffffu;
    uint ahead[DIGITS];
    uint before[DIGITS];
    for (uint k = 0u; k < DIGITS; ++k) {
        uint digit = invocation * DIGITS + k;
        ahead[k] = digit < RADIX ? tile : SETTLED;
        before[k] = tile == 0u && digit < RADIX ? work.base[push.pass * RADIX + digit] : 0u;
    }
    uint missing_end = NOTHING;      // the number of tiles up to the one that was counted here
    do {
        for (uint k = 0u; k < DIGITS; ++k) {
            uint digit = invocation * DIGITS + k;
            if (ahead[k] == SETTLED)
                continue;
            if (ahead[k] == missing_end)
                step_back(digit, missing[digit], ahead[k], before[k]);
            add_earlier_tiles(route, digit, ahead[k], before[k]);
            if (ahead[k] == 0u) {
                settle(route, tile, digit, before[k], total[k], start[k]);
                ahead[k] = SETTLED;
            } else {
                atomicMax(missing_tiles, ahead[k]);
            }
        }
        barrier();
        missing_end = missing_tiles;
        if (missing_end > 0u) {
            // An invocation waits too long for tile missing_end - 1. Waits for earlier tiles are handled later.
            count_missing(route, missing_end - 1u, invocation);
            if (invocation == 0u)
                missing_tiles = 0u;
            barrier();
        }
    } while (missing_end > 0u);
}
