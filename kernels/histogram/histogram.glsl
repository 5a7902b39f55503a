// Common part of both histograms: bin indices of elements in vectors of 16 bytes, in a grid-stride loop.
//
// The including file defines the counting: begin(), count_vector(), count_one() and finish(). It includes
// elements.glsl and kernel.glsl before this.
//
// vectors, scalars: the same memory, as whole vectors of 16 bytes and as elements. counts: one count per bin,
// which the shader increments, or stores (ONE_GROUP in table.glsl). edges (BINNING EDGES): the least key of each
// bin, ascending.
#ifndef HISTOGRAM_GLSL
#define HISTOGRAM_GLSL

// BINNING: DIRECT, one bin per integer from `low` on; EDGES, bins between edges; EXACT, bins of equal width
// that float32 arithmetic determines exactly, without edges.
#define DIRECT 0
#define EDGES 1
#define EXACT 2
#ifndef BINNING
#define BINNING DIRECT
#endif

layout(std430, binding = 0) readonly buffer Vectors { uvec4 vectors[]; };
layout(std430, binding = 1) readonly buffer Scalars { Scalar scalars[]; };
layout(std430, binding = 2) buffer Counts { uint counts[]; };
#if BINNING == EDGES
layout(std430, binding = 3) readonly buffer Edges { Key edges[]; };
#endif

layout(push_constant) uniform Push {
    uint count;    // elements
    uint bins;     // at most BINS if the table is in shared memory
    Key low;       // the key of the least element that is in a bin
#if BINNING != DIRECT
    Key high;      // and of the greatest one
    uint last;     // the greatest bin that a key can be in
    float origin;  // lower edge of the first bin
    float scale;   // bins per unit of the elements
    float bias;    // position of the least element, if elements are integers
    float margin;  // distance from an integer beyond which a position determines the bin
#endif
};

// The index for elements in no bin.
const uint DROPPED = 0xffffffffu;

void begin();
void count_vector(uint element_bin[PER]);
void count_one(uint element_bin);
void finish();

#if BINNING != DIRECT && BITS < 64
// The position of an element among bins of equal width, with rounding: bin k reaches from k to k + 1.
float position_of(Raw raw, Key key) {
#if KIND != FLOATING
    return float(key - low) * scale + bias;
#elif BITS == 16
    return (unpackHalf2x16(raw).x - origin) * scale;
#else
    return (uintBitsToFloat(raw) - origin) * scale;
#endif
}
#endif

#if BINNING == EDGES
// The last bin whose lower edge is not above the key, for keys not below edges[0].
uint search(Key key) {
    uint lower = 0u;
    uint upper = last + 1u;
    while (upper - lower > 1u) {
        uint middle = (lower + upper) / 2u;
        if (less(key, edges[middle]))
            upper = middle;
        else
            lower = middle;
    }
    return lower;
}

// The result is the same as that of comparisons with all edges. `margin` bounds the error of the position
// plus the rounding errors of the edges. A position farther than this from every integer determines the bin.
// A nearer position lies beside one edge, and the key is compared with this edge. A margin of 1 means that
// positions cannot be used; then the bin is searched.
uint bin_of(Raw raw) {
    Key key = key_of(raw);
    if (!between(key, low, high))
        return DROPPED;
#if BITS < 64
    if (margin < 1.0) {
        float position = position_of(raw, key);
        float whole = floor(position);
        float fraction = position - whole;
        if (fraction > margin && fraction < 1.0 - margin)
            return min(uint(whole), last);
        uint beside = min(uint(whole + (fraction < 0.5 ? 0.0 : 1.0)), last);
        return less(key, edges[beside]) ? beside - 1u : beside;
    }
#endif
    return search(key);
}
#elif BINNING == EXACT
uint bin_of(Raw raw) {
    Key key = key_of(raw);
    return between(key, low, high) ? min(uint(position_of(raw, key)), last) : DROPPED;
}
#else
uint bin_of(Raw raw) {
    Key key = key_of(raw);
#if BITS == 64
    return key.y == low.y && key.x - low.x < bins && key.x >= low.x ? key.x - low.x : DROPPED;
#else
    uint bin = key - low;
    return bin < bins ? bin : DROPPED;
#endif
}
#endif

// One tile: ITEMS vectors per invocation, all loads before the first use. All invocations of the workgroup
// call count_vector() equally often, with empty vectors past the end.
void count_tile(uint first, uint total, bool whole) {
    uvec4 data[ITEMS];
    [[unroll]] for (uint j = 0u; j < ITEMS; ++j) {
        uint i = first + j * WORKGROUP + gl_LocalInvocationIndex;
        data[j] = vectors[whole ? i : min(i, total - 1u)];
    }
    [[unroll]] for (uint j = 0u; j < ITEMS; ++j) {
        bool valid = whole || first + j * WORKGROUP + gl_LocalInvocationIndex < total;
        uint element_bin[PER];
        [[unroll]] for (uint e = 0u; e < PER; ++e)
            element_bin[e] = valid ? bin_of(element(data[j], e)) : DROPPED;
        count_vector(element_bin);
    }
}

void main() {
    begin();
    uint total = count / PER;
    uint tile = WORKGROUP * ITEMS;
    for (uint first = gl_WorkGroupID.x * tile; first < total; first += gl_NumWorkGroups.x * tile) {
        if (total - first >= tile)
            count_tile(first, total, true);
        else
            count_tile(first, total, false);
    }
    // Fewer than PER elements follow the last whole vector.
    if (gl_WorkGroupID.x == 0u && gl_LocalInvocationIndex < count - total * PER)
        count_one(bin_of(TO_RAW(scalars[total * PER + gl_LocalInvocationIndex])));
    finish();
}

#endif
