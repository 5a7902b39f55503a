// Main part of a top-k selection: the first k elements of each row in the order of order.glsl, by a radix
// select.
//
// A pass counts the values of one digit, from the most significant digit on, among the elements whose higher
// digits are those of the k-th element. The counts give its next digit, and how many elements with that digit
// are to be taken. After the last pass the k-th element's key is known: the threshold. All elements before it
// are taken, and of the elements equal to it the first ones, so that exactly k are taken. They are written in
// the order of their indices.
//
// PHASE: ROW: one workgroup does everything for a row. Long rows are divided into parts, one per workgroup:
// COUNT: one pass over the digits; TALLY: the numbers of elements before the threshold and equal to it; WRITE.
// Each of these dispatches completes the pass before it, in every workgroup.
//
// Required before this file: ../include/kernel.glsl, ../include/elements.glsl, order.glsl.

#define ROW 0
#define COUNT 1
#define TALLY 2
#define WRITE 3
#ifndef PHASE
#define PHASE ROW
#endif

#define DIGIT_BITS 8
const uint RADIX = 1u << DIGIT_BITS;
const uint PASSES = BITS / DIGIT_BITS;
const uint TILE = WORKGROUP * ITEMS;

layout(push_constant) uniform Push {
    uint length;       // elements of a row
    uint k;            // elements to take of each row
    uint rows;
    uint parts;        // of a row
    uint part_size;    // elements of a part; the last one may be shorter
    uint pass;         // for COUNT
};

// The state of a selection after some passes.
struct State {
    Key prefix;    // digits of the k-th element that are known; zeros below
    uint left;     // elements to take of those that have these digits
};

struct Tally {
    uint before;    // elements before the threshold
    uint equal;     // elements equal to it
};

layout(std430, binding = 0) readonly restrict buffer Elements { Scalar elements[]; };
#if PHASE == ROW || PHASE == WRITE
layout(std430, binding = 1) writeonly restrict buffer Values { Scalar values[]; };
layout(std430, binding = 2) writeonly restrict buffer Indices { uint indices[]; };
#endif
#if PHASE == COUNT || PHASE == TALLY
layout(std430, binding = 3) restrict buffer Histograms { uint histograms[]; };    // row, pass, digit
#endif
#if PHASE != ROW
layout(std430, binding = 4) restrict buffer States { State states[]; };           // row, passes done
#endif
#if PHASE == TALLY || PHASE == WRITE
layout(std430, binding = 5) restrict buffer Tallies { Tally tallies[]; };         // row, part
#endif

shared uint bins[RADIX];
shared uint chosen_digit;
shared uint chosen_left;

// Defined by the kernel: the number of this invocation, in the order of scan().
uint invocation();

// Defined by the kernel: the sum of the numbers of the invocations before this one, and of all. Called by all
// invocations; its shared memory can be used again when it returns.
uint scan(uint own, out uint total);

// Defined by the kernel: count a digit in `bins`, unless `counted` is false. Called by all invocations.
void count_digit(bool counted, uint digit);

uint sum(uint own) {
    uint total;
    scan(own, total);
    return total;
}

// --- digits -----------------------------------------------------------------------------------------------

uint top_bits(uint n) {
    return n == 0u ? 0u : n >= 32u ? ~0u : ~0u << (32u - n);
}

// Whether the first digits of an element, as many as passes are done, are those of the k-th element.
bool is_candidate(Key order, State state, uint passes) {
    uint known = passes * DIGIT_BITS;
#if BITS == 64
    Key mask = Key(known > 32u ? top_bits(known - 32u) : 0u, top_bits(known));
    return ((order ^ state.prefix) & mask) == Key(0u);
#else
    return ((order ^ state.prefix) & top_bits(known)) == 0u;
#endif
}

// The digit that a pass counts.
uint digit_of(Key order, uint number) {
    uint shift = 32u - DIGIT_BITS - number * DIGIT_BITS % 32u;
#if BITS == 64
    return (number * DIGIT_BITS < 32u ? order.y : order.x) >> shift & (RADIX - 1u);
#else
    return order >> shift & (RADIX - 1u);
#endif
}

Key with_digit(Key prefix, uint number, uint digit) {
    uint bits = digit << (32u - DIGIT_BITS - number * DIGIT_BITS % 32u);
#if BITS == 64
    return number * DIGIT_BITS < 32u ? Key(prefix.x, prefix.y | bits) : Key(prefix.x | bits, prefix.y);
#else
    return prefix | bits;
#endif
}

Raw element_at(uint row, uint i) {
    return TO_RAW(elements[row * length + i]);
}

// --- passes -----------------------------------------------------------------------------------------------

void clear_bins() {
    for (uint i = gl_LocalInvocationIndex; i < RADIX; i += WORKGROUP)
        bins[i] = 0u;
    barrier();
}

// Count a digit of the candidates of a part. Ends with a barrier.
void count_part(uint row, uint begin, uint end, State state, uint number) {
    for (uint start = begin; start < end; start += TILE) {
        Key order[ITEMS];
        [[unroll]] for (uint j = 0u; j < ITEMS; ++j)
            order[j] = order_of(element_at(row, min(start + j * WORKGROUP + invocation(), end - 1u)));
        [[unroll]] for (uint j = 0u; j < ITEMS; ++j) {
            bool inside = start + j * WORKGROUP + invocation() < end;
            count_digit(inside && is_candidate(order[j], state, number), digit_of(order[j], number));
        }
    }
    barrier();
}

// The state after a pass whose counts are in `bins`. Each invocation sums neighbouring bins. The k-th element
// has the first digit up to which there are enough elements. Ends with a barrier, after which `bins` can be used
// again.
State choose(State state, uint number) {
    uint each = (RADIX + WORKGROUP - 1u) / WORKGROUP, first = invocation() * each;
    uint own = 0u;
    for (uint i = first; i < min(first + each, RADIX); ++i)
        own += bins[i];
    uint total;
    uint before = scan(own, total);
    for (uint i = first; i < min(first + each, RADIX); ++i) {
        if (before < state.left && state.left <= before + bins[i]) {
            chosen_digit = i;
            chosen_left = state.left - before;
        }
        before += bins[i];
    }
    barrier();
    return State(with_digit(state.prefix, number, chosen_digit), chosen_left);
}

#if PHASE == COUNT || PHASE == TALLY
// The state after `done` passes, the last of which was the dispatch before. The first part stores it for the
// next dispatch.
State complete_pass(uint row, uint part, uint done) {
    State state = State(Key(0u), k);
    if (done == 0u)
        return state;
    if (done > 1u)
        state = states[row * (PASSES + 1u) + done - 1u];
    for (uint i = gl_LocalInvocationIndex; i < RADIX; i += WORKGROUP)
        bins[i] = histograms[(row * PASSES + done - 1u) * RADIX + i];
    barrier();
    state = choose(state, done - 1u);
    if (part == 0u && gl_LocalInvocationIndex == 0u)
        states[row * (PASSES + 1u) + done] = state;
    return state;
}
#endif

// --- results ----------------------------------------------------------------------------------------------

#if PHASE == TALLY
void tally_part(uint row, uint part, uint begin, uint end, Key threshold) {
    Tally tally = Tally(0u, 0u);
    for (uint start = begin; start < end; start += TILE) {
        [[unroll]] for (uint j = 0u; j < ITEMS; ++j) {
            uint i = start + j * WORKGROUP + invocation();
            if (i < end) {
                Key order = order_of(element_at(row, i));
                tally.before += uint(less(order, threshold));
                tally.equal += uint(order == threshold);
            }
        }
    }
    tally = Tally(sum(tally.before), sum(tally.equal));
    if (gl_LocalInvocationIndex == 0u)
        tallies[row * parts + part] = tally;
}
#endif

#if PHASE == ROW || PHASE == WRITE
// Write the taken elements of a part. `tally` counts the elements before it. An invocation has ITEMS
// neighbouring elements of a tile, so one scan of two packed counts gives their positions.
void write_part(uint row, uint begin, uint end, State state, Tally tally) {
    for (uint start = begin; start < end; start += TILE) {
        uint first = start + invocation() * ITEMS;
        Raw raw[ITEMS];
        uint is_before = 0u, is_equal = 0u;    // bit j stands for element j
        [[unroll]] for (uint j = 0u; j < ITEMS; ++j)
            raw[j] = element_at(row, min(first + j, end - 1u));
        [[unroll]] for (uint j = 0u; j < ITEMS; ++j) {
            Key order = order_of(raw[j]);
            is_before |= uint(first + j < end && less(order, state.prefix)) << j;
            is_equal |= uint(first + j < end && order == state.prefix) << j;
        }
        uint total;
        uint packed = scan(bitCount(is_before) | bitCount(is_equal) << 16, total);
        Tally own = Tally(tally.before + (packed & 0xffffu), tally.equal + (packed >> 16));
        [[unroll]] for (uint j = 0u; j < ITEMS; ++j) {
            bool before = (is_before >> j & 1u) != 0u, equal = (is_equal >> j & 1u) != 0u;
            if (before || (equal && own.equal < state.left)) {
                uint position = row * k + own.before + min(own.equal, state.left);
                values[position] = Scalar(raw[j]);
                indices[position] = first + j;
            }
            own.before += uint(before);
            own.equal += uint(equal);
        }
        tally.before += total & 0xffffu;
        tally.equal += total >> 16;
    }
}
#endif

#if PHASE == WRITE
// The sum of the tallies of the parts before a part.
Tally tally_before(uint row, uint part) {
    Tally tally = Tally(0u, 0u);
    for (uint i = gl_LocalInvocationIndex; i < part; i += WORKGROUP) {
        tally.before += tallies[row * parts + i].before;
        tally.equal += tallies[row * parts + i].equal;
    }
    return Tally(sum(tally.before), sum(tally.equal));
}
#endif

void main() {
    uint job = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    if (job >= rows * parts)
        return;
    uint row = job / parts, part = job % parts;
    uint begin = part * part_size, end = min(begin + part_size, length);
#if PHASE == ROW
    State state = State(Key(0u), k);
    for (uint number = 0u; number < PASSES; ++number) {
        clear_bins();
        count_part(row, begin, end, state, number);
        state = choose(state, number);
    }
    write_part(row, begin, end, state, Tally(0u, 0u));
#elif PHASE == COUNT
    State state = complete_pass(row, part, pass);
    clear_bins();
    count_part(row, begin, end, state, pass);
    for (uint i = gl_LocalInvocationIndex; i < RADIX; i += WORKGROUP)
        if (bins[i] != 0u)
            atomicAdd(histograms[(row * PASSES + pass) * RADIX + i], bins[i]);
#elif PHASE == TALLY
    State state = complete_pass(row, part, PASSES);
    tally_part(row, part, begin, end, state.prefix);
#else
    State state = states[row * (PASSES + 1u) + PASSES];
    write_part(row, begin, end, state, tally_before(row, part));
#endif
}
