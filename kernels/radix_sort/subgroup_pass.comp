// One pass of a least-significant-digit radix sort, with one pass over memory ("Onesweep", Adinets and
// Merrill 2022). Each workgroup sorts a tile of keys by one digit in shared memory, finds the number of keys
// of each digit in earlier tiles by look-back, and writes its keys to their target positions. The sort is
// stable, so all keys are sorted after the pass of the highest digit.
//
// A subgroup has ITEMS rows of consecutive keys, with one key per lane in a row. MATCH finds the lanes of a
// row with the same digit. A key's rank is the number of such lanes before it plus the number of keys of that
// digit in the previous rows, which the subgroup counts in shared memory. The shader uses only gl_SubgroupID
// and lane indices, so it works with every subgroup size and every assignment of invocations to lanes.
// Subgroups are full.
//
// Input, Spare, Result: keys, count each; Work: see work.glsl; States: RADIX words a tile, zero before the
// first pass.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_memory_scope_semantics : require

#include "../include/kernel.glsl"
#include "keys.glsl"
#include "pass.glsl"
#include "look_back.glsl"

layout(constant_id = 10) const bool EARLY = false;  // count digits first, to publish them sooner

// Methods to find lanes with the same digit.
#define MATCH_BALLOT 0      // a ballot for each bit of the digit
#define MATCH_SHARED 1      // each sets its bit in a word of shared memory that belongs to the digit
#define MATCH_PARTITION 2   // GL_NV_shader_subgroup_partitioned
#ifndef MATCH
#define MATCH MATCH_BALLOT
#endif
#if MATCH == MATCH_PARTITION
#extension GL_NV_shader_subgroup_partitioned : require
#endif

// Methods to rank a key among the subgroup's keys with its digit.
#define CLAIM_WRITE 0       // all lanes read the count, and the last one with a digit writes the new one
#define CLAIM_ADD 1         // the last lane with a digit adds atomically and tells the others
#ifndef CLAIM
#define CLAIM CLAIM_WRITE
#endif
#if CLAIM == CLAIM_ADD
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

// 1: a workgroup has exactly SUBGROUPS subgroups. The driver's compiler then knows the length of loops over
// them.
#ifndef EXACT
#define EXACT 0
#endif
#if EXACT
#define EACH_SUBGROUP(s) UNROLLED for (uint s = 0u; s < SUBGROUPS; ++s)
#else
#define EACH_SUBGROUP(s) for (uint s = 0u; s < gl_NumSubgroups; ++s)
#endif

// Sets of lanes: as many words as the device's largest subgroup needs.
#ifndef MASK_WORDS
#define MASK_WORDS 4
#endif
#if MASK_WORDS == 1
#define MASK uint
#define LANES(ballot) (ballot).x
#define WORD(mask, w) (mask)
uint size_of(uint mask) { return uint(bitCount(mask)); }
bool is_empty(uint mask) { return mask == 0u; }
uint last_of(uint mask) { return uint(findMSB(mask)); }
#elif MASK_WORDS == 2
#define MASK uvec2
#define LANES(ballot) (ballot).xy
#define WORD(mask, w) (mask)[w]
uint size_of(uvec2 mask) { ivec2 n = bitCount(mask); return uint(n.x + n.y); }
bool is_empty(uvec2 mask) { return (mask.x | mask.y) == 0u; }
uint last_of(uvec2 mask) { return subgroupBallotFindMSB(uvec4(mask, 0u, 0u)); }
#else
#define MASK uvec4
#define LANES(ballot) (ballot)
#define WORD(mask, w) (mask)[w]
uint size_of(uvec4 mask) { ivec4 n = bitCount(mask); return uint((n.x + n.y) + (n.z + n.w)); }
bool is_empty(uvec4 mask) { return (mask.x | mask.y | mask.z | mask.w) == 0u; }
uint last_of(uvec4 mask) { return subgroupBallotFindMSB(mask); }
#endif

const uint TILE = WORKGROUP * ITEMS;

shared uint counter[SUBGROUPS * RADIX];     // of each subgroup and digit
#if MATCH == MATCH_SHARED
shared uint lanes_of[SUBGROUPS * RADIX * MASK_WORDS];
#endif
shared uint partial[SUBGROUPS];
shared CELL cell[TILE];                     // the tile's keys in the order of their digits, then its values

// Makes a lane's shared-memory writes visible to the other lanes of the subgroup.
void meet() {
    controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
}

// The lanes with the same index of `counter` as this one: those with its digit. Called by all lanes.
MASK match(uint at, uint digit) {
#if MATCH == MATCH_BALLOT
    MASK same = LANES(subgroupBallot(true));
    UNROLLED for (uint bit = 0u; bit < RADIX_BITS; ++bit) {
        bool one = (digit & (1u << bit)) != 0u;
        same &= LANES(subgroupBallot(one)) ^ MASK(one ? 0u : NOTHING);
    }
    return same;
#elif MATCH == MATCH_SHARED
    uint lane = gl_SubgroupInvocationID;
    atomicOr(lanes_of[at * MASK_WORDS + lane / 32u], 1u << (lane & 31u));
    meet();
    MASK same;
    UNROLLED for (uint w = 0u; w < MASK_WORDS; ++w)
        WORD(same, w) = lanes_of[at * MASK_WORDS + w];
    return same;
#else
    return LANES(subgroupPartitionNV(digit));
#endif
}

// Counts the key of each lane at its index of `counter`, and returns the count before the key. Called by all
// lanes.
uint claim(uint at, uint digit) {
    MASK same = match(at, digit);
    uint rank = size_of(same & LANES(gl_SubgroupLtMask));
    bool last = is_empty(same & LANES(gl_SubgroupGtMask));
#if CLAIM == CLAIM_WRITE
    rank += counter[at];
    meet();     // all lanes have read; now one lane of each digit writes
    if (last)
        counter[at] = rank + 1u;
#else
    uint before = 0u;
    if (last)
        before = atomicAdd(counter[at], rank + 1u);
    rank += subgroupShuffle(before, last_of(same));
#if MATCH == MATCH_SHARED
    meet();     // all lanes have read their digit's lanes; now one lane of each digit clears them
#endif
#endif
    if (last) {
#if MATCH == MATCH_SHARED
        UNROLLED for (uint w = 0u; w < MASK_WORDS; ++w)
            lanes_of[at * MASK_WORDS + w] = 0u;
#endif
    }
    meet();
    return rank;
}

// The sum over all invocations with a smaller `invocation`. Called by all invocations of the workgroup.
uint sum_before(uint value) {
    uint within = subgroupExclusiveAdd(value);
    if (gl_SubgroupInvocationID == gl_SubgroupSize - 1u)
        partial[gl_SubgroupID] = within + value;
    barrier();
    uint before = 0u;
    EACH_SUBGROUP(s)
        before += s < gl_SubgroupID ? partial[s] : 0u;
    return before + within;
}

void main() {
    uint route = work.pass[push.pass].route;
    uint lane = gl_SubgroupInvocationID, size = gl_SubgroupSize;
    uint invocation = gl_SubgroupID * size + lane;
    uint table = gl_SubgroupID * RADIX;
    uint shift = push.pass * RADIX_BITS;

    take_tile(invocation);
    for (uint d = lane; d < RADIX; d += size) {
        counter[table + d] = 0u;
#if MATCH == MATCH_SHARED
        UNROLLED for (uint w = 0u; w < MASK_WORDS; ++w)
            lanes_of[(table + d) * MASK_WORDS + w] = 0u;
#endif
    }
    barrier();
    uint tile = tile_number;
    uint begin = tile * TILE;
    if ((route & ROUTE_RUNS) == 0u || begin >= push.count)
        return;
    uint held = min(TILE, push.count - begin);

    // Rows of keys; missing keys of the last tile are ordered after all others.
    uint row = gl_SubgroupID * size * ITEMS + lane;
    KEY key[ITEMS];
    LOAD_TILE(key, key, row, size, last_key())

    // Ranks among the subgroup's keys with the same digit, 16 bits above the index in `counter`; or only
    // their number.
    uint slot[ITEMS];
    UNROLLED for (uint i = 0u; i < ITEMS; ++i) {
        uint digit = digit_of(ordered(key[i]), shift);
        slot[i] = table + digit;
        if (EARLY)
            atomicAdd(counter[table + digit], 1u);
        else
            slot[i] |= claim(table + digit, digit) << 16;
    }
    barrier();

    // Each digit's keys in the tile. `counter` then has the index at which those of each subgroup begin in the
    // sorted tile.
    uint total[DIGITS];
    uint start[DIGITS];
    uint sum = 0u;
    UNROLLED for (uint k = 0u; k < DIGITS; ++k) {
        uint digit = invocation * DIGITS + k;
        total[k] = 0u;
        if (digit < RADIX) {
            EACH_SUBGROUP(s)
                total[k] += counter[s * RADIX + digit];
            announce(route, tile, digit, total[k]);
        }
        sum += total[k];
    }
    uint running = sum_before(sum);
    UNROLLED for (uint k = 0u; k < DIGITS; ++k) {
        uint digit = invocation * DIGITS + k;
        start[k] = running;
        if (digit < RADIX) {
            EACH_SUBGROUP(s) {
                uint here = counter[s * RADIX + digit];
                counter[s * RADIX + digit] = running;
                running += here;
            }
        }
    }
    barrier();

    // The tile in the order of its digits.
    UNROLLED for (uint i = 0u; i < ITEMS; ++i) {
        uint at = slot[i] & 0xffffu;
        slot[i] = EARLY ? claim(at, at - table) : counter[at] + (slot[i] >> 16);
        cell[slot[i]] = CELL_OF_KEY(key[i]);
    }
#if VALUE_WORDS
    // Loaded early, to hide the latency behind the look-back.
    VALUE value[ITEMS];
    LOAD_VALUES(value, row, size)
#endif
    look_back(route, tile, invocation, total, start);

    // Keys with the same digit are adjacent in the tile and in the result, so runs of keys are written at
    // once.
    uint target_index[ITEMS];
    UNROLLED for (uint i = 0u; i < ITEMS; ++i) {
        key[i] = KEY_OF_CELL(cell[i * WORKGROUP + invocation]);
        target_index[i] = target[digit_of(ordered(key[i]), shift)] + i * WORKGROUP + invocation;
    }
    if (INDICES != 1 || (route & ROUTE_LAST) == 0u) {
        STORE_TILE(key, key, target_index)
    }
#if VALUE_WORDS
    barrier();      // all keys have been read
    UNROLLED for (uint i = 0u; i < ITEMS; ++i)
        cell[slot[i]] = CELL_OF_VALUE(value[i]);
    barrier();
    UNROLLED for (uint i = 0u; i < ITEMS; ++i)
        value[i] = VALUE_OF_CELL(cell[i * WORKGROUP + invocation]);
    STORE_TILE(value, value, target_index)
#endif
}
