// One pass of the radix sort as in subgroup_pass.comp, without subgroup operations.
//
// The tile is sorted by the digit with stable splits of four bits each. An invocation has ITEMS consecutive
// keys and separate counters for the sixteen values of four bits, two to a word. The counters of an
// invocation are in one column, so counting has no bank conflicts; with an odd number of items, reading the
// keys has none either. An exclusive scan over all counters, ordered by value and then by invocation, gives
// the position of each key.
//
// The split data is the key itself or, if the key has a value or two words, its digit and its index in the
// loaded tile.
//
// Input, Spare, Result: keys, count each; Work: see work.glsl; States: RADIX words a tile, zero before the
// first pass.
#version 460
#extension GL_KHR_memory_scope_semantics : require

#include "../include/kernel.glsl"
#include "keys.glsl"
#include "pass.glsl"
#include "look_back.glsl"

const uint TILE = WORKGROUP * ITEMS;     // fewer than 65536; WORKGROUP is a multiple of 16
const uint ROWS = 8u;       // of counters: values 0 to 7 in the low halves of words, 8 to 15 in the high ones
const uint BLOCK = 16u;     // sums that one invocation adds up

shared uvec4 counter[ROWS * WORKGROUP / 4u];
shared uint sums[WORKGROUP / BLOCK * (BLOCK + 1u)];     // a word of padding a block: no bank conflicts
shared uint block_sum[WORKGROUP / BLOCK];
shared uint word[TILE];
shared uint first_of[RADIX];        // where each digit begins and ends in the sorted tile
shared uint end_of[RADIX];
#if KEY_WORDS == 1 && VALUE_WORDS == 0
#define WORD_OF(key, index) (key)
#define DIGIT_OF(w) digit_of(ordered(w), shift)
#else
#define WORD_OF(key, index) ((digit_of(ordered(key), shift) << 16) | (index))
#define DIGIT_OF(w) ((w) >> 16)
#define INDEX_OF(w) ((w) & 0xffffu)
shared CELL cell[TILE];             // keys, and then values, as they were loaded
#endif

// The sum over all earlier invocations, and over all invocations. Called by all invocations of the workgroup.
uint sum_before(uint value, uint invocation, out uint total) {
    uint block = invocation / BLOCK, own_slot = invocation + block;
    sums[own_slot] = value;
    barrier();
    if (invocation < WORKGROUP / BLOCK) {
        uint part[BLOCK];
        UNROLLED for (uint j = 0u; j < BLOCK; ++j)
            part[j] = sums[invocation * (BLOCK + 1u) + j];
        uint sum = 0u;
        UNROLLED for (uint j = 0u; j < BLOCK; ++j) {
            sums[invocation * (BLOCK + 1u) + j] = sum;
            sum += part[j];
        }
        block_sum[invocation] = sum;
    }
    barrier();
    uint before = sums[own_slot];
    total = 0u;
    for (uint b = 0u; b < WORKGROUP / BLOCK; ++b) {
        uint sum = block_sum[b];
        before += b < block ? sum : 0u;
        total += sum;
    }
    return before;
}

// The exclusive prefix sums of a vector's components, beginning with `before`; adds their sum to `before`.
uvec4 prefixes(uvec4 counts, inout uint before) {
    uvec4 result;
    UNROLLED for (uint c = 0u; c < 4u; ++c) {
        result[c] = before;
        before += counts[c];
    }
    return result;
}

// Sorts `word` by four bits of the digits, from `bit` on; equal ones keep their order. Called by all
// invocations of the workgroup.
void split(uint bit, uint shift, uint invocation) {
    UNROLLED for (uint r = 0u; r < ROWS; ++r)
        counter[(r * WORKGROUP + invocation) / 4u][invocation % 4u] = 0u;
    uint held_word[ITEMS];
    uint rank[ITEMS];
    UNROLLED for (uint i = 0u; i < ITEMS; ++i) {
        held_word[i] = word[invocation * ITEMS + i];
        uint value = (DIGIT_OF(held_word[i]) >> bit) & 15u;
        uint at = (value & 7u) * WORKGROUP + invocation;
        uint half_shift = (value >> 3) * 16u;
        uint count = counter[at / 4u][at % 4u];
        counter[at / 4u][at % 4u] = count + (1u << half_shift);
        rank[i] = (count >> half_shift) & 0xffffu;
    }
    barrier();
    uvec4 low = counter[2u * invocation], high = counter[2u * invocation + 1u];
    uvec4 both = low + high;
    uint total;
    uint before = sum_before((both.x + both.y) + (both.z + both.w), invocation, total);
    before += total << 16;      // values from 8 on follow all values up to 7
    counter[2u * invocation] = prefixes(low, before);
    counter[2u * invocation + 1u] = prefixes(high, before);
    barrier();
    UNROLLED for (uint i = 0u; i < ITEMS; ++i) {
        uint value = (DIGIT_OF(held_word[i]) >> bit) & 15u;
        uint at = (value & 7u) * WORKGROUP + invocation;
        uint begins = (counter[at / 4u][at % 4u] >> ((value >> 3) * 16u)) & 0xffffu;
        word[begins + rank[i]] = held_word[i];
    }
    barrier();
}

void main() {
    uint route = work.pass[push.pass].route;
    uint invocation = gl_LocalInvocationIndex;
    uint shift = push.pass * RADIX_BITS;

    take_tile(invocation);
    for (uint d = invocation; d < RADIX; d += WORKGROUP) {
        first_of[d] = 0u;
        end_of[d] = 0u;
    }
    barrier();
    uint tile = tile_number;
    uint begin = tile * TILE;
    if ((route & ROUTE_RUNS) == 0u || begin >= push.count)
        return;
    uint held = min(TILE, push.count - begin);

    // Rows of keys; missing keys of the last tile are ordered after all others.
    KEY key[ITEMS];
    LOAD_TILE(key, key, invocation, WORKGROUP, last_key())
    UNROLLED for (uint i = 0u; i < ITEMS; ++i) {
        uint index = i * WORKGROUP + invocation;
        word[index] = WORD_OF(key[i], index);
#ifdef INDEX_OF
        cell[index] = CELL_OF_KEY(key[i]);
#endif
    }
    barrier();
    UNROLLED for (uint bit = 0u; bit < RADIX_BITS; bit += 4u)
        split(bit, shift, invocation);

    // A digit begins where the previous key has another digit.
    uint sorted[ITEMS];
    UNROLLED for (uint i = 0u; i < ITEMS; ++i) {
        uint p = i * WORKGROUP + invocation;
        sorted[i] = word[p];
        uint digit = DIGIT_OF(sorted[i]);
        if (p > 0u) {
            uint previous = DIGIT_OF(word[p - 1u]);
            if (previous != digit) {
                end_of[previous] = p;
                first_of[digit] = p;
            }
        }
        if (p == TILE - 1u)
            end_of[digit] = TILE;
    }
    barrier();
    uint total[DIGITS];
    uint start[DIGITS];
    UNROLLED for (uint k = 0u; k < DIGITS; ++k) {
        uint digit = invocation * DIGITS + k;
        start[k] = 0u;
        total[k] = 0u;
        if (digit < RADIX) {
            start[k] = first_of[digit];
            total[k] = end_of[digit] - start[k];
            announce(route, tile, digit, total[k]);
        }
    }
#if VALUE_WORDS
    // Loaded early, to hide the latency behind the look-back.
    VALUE value[ITEMS];
    LOAD_VALUES(value, invocation, WORKGROUP)
#endif
    look_back(route, tile, invocation, total, start);

    // Keys with the same digit are adjacent in the tile and in the result, so runs of keys are written at
    // once.
    uint target_index[ITEMS];
    UNROLLED for (uint i = 0u; i < ITEMS; ++i) {
        target_index[i] = target[DIGIT_OF(sorted[i])] + i * WORKGROUP + invocation;
#ifdef INDEX_OF
        key[i] = KEY_OF_CELL(cell[INDEX_OF(sorted[i])]);
#else
        key[i] = sorted[i];
#endif
    }
    if (INDICES != 1 || (route & ROUTE_LAST) == 0u) {
        STORE_TILE(key, key, target_index)
    }
#if VALUE_WORDS
    barrier();      // all keys have been read
    UNROLLED for (uint i = 0u; i < ITEMS; ++i)
        cell[i * WORKGROUP + invocation] = CELL_OF_VALUE(value[i]);
    barrier();
    UNROLLED for (uint i = 0u; i < ITEMS; ++i)
        value[i] = VALUE_OF_CELL(cell[INDEX_OF(sorted[i])]);
    STORE_TILE(value, value, target_index)
#endif
}
