// States that the tiles of a one-pass algorithm publish for later tiles: values with a status, in one atomic
// unit.
//
// A tile publishes its aggregate: the combination of its own elements. Its prefix is the combination of all
// elements up to its end. The leader of a group publishes the prefixes of all tiles of the group at once. A
// workgroup needs the prefix of the previous tile, so it usually waits for one word, which no other workgroup
// waits for. A waiting workgroup reads repeatedly, which slows down other accesses. So few words should be
// waited for, each by few workgroups.
//
// Tiles are combined by rows (defined in look_back_*.glsl) in a fixed order: the prefix of a tile is the
// prefix of the previous row plus the combination of its row from the beginning to the tile. Every workgroup
// that computes a prefix does the same additions, so sums of floats are always the same.
//
// Value and status share an atomic unit. A value that is too long uses several units, each with the status. A
// state is valid only if all its units have the same status. A unit changes only once, from ABSENT to another
// status, so the parts of a valid state belong together. Relaxed atomics are sufficient, since no other
// memory is read because of a status.
//
// Macros:
//   CARRIED       the type of the values
//   CARRIED_BITS  64 for 64-bit types, else 32: bits of a value
//   PAYLOAD       bits of a value in one unit. 32: 64-bit atomics; 16 and 30: 32-bit atomics. The value must
//                 fit into 30 bits where that is chosen
//   HEADS         1: tiles may be HEADED
//   SPINS         (specialization constant 10) unsuccessful reads before a workgroup stops waiting
//   SILENT        (specialization constant 11) for tests: every SILENT-th tile publishes nothing; 0: none
//   MUTE          (specialization constant 12) for tests: 1 omits aggregates, 2 prefixes
#ifndef LOOK_BACK_GLSL
#define LOOK_BACK_GLSL

#extension GL_KHR_memory_scope_semantics : require

#ifndef CARRIED_BITS
#define CARRIED_BITS 32
#endif
#ifndef PAYLOAD
#define PAYLOAD 16
#endif
#ifndef HEADS
#define HEADS 0
#endif

#if PAYLOAD == 32
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_atomic_int64 : require
#define Unit uint64_t
#else
#define Unit uint
#endif
#if PAYLOAD == 30
const uint UNITS = 1u;
#else
const uint UNITS = CARRIED_BITS / PAYLOAD;
#endif

layout(constant_id = 10) const uint SPINS = 256u;
layout(constant_id = 11) const uint SILENT = 0u;
layout(constant_id = 12) const uint MUTE = 0u;

// Statuses. HEADED is used by scans of segments: a segment begins in the tile, so the tile's prefix equals
// its aggregate and does not depend on earlier tiles.
const uint ABSENT = 0u;
const uint PRESENT = 1u;
const uint HEADED = 2u;

const uint NO_TILE = ~0u;

// A known state of a tile: PRESENT or HEADED, and the value.
struct Known {
    uint status;
    CARRIED value;
};

// Defined by the algorithm: computes the aggregate of another workgroup's tile, with identical bits. Called
// by all invocations of the workgroup; contains a barrier. In the subgroup version, only the lanes of the
// first subgroup need the result; otherwise every invocation does.
Known recompute(uint tile);

// Initially zero.
layout(std430, binding = 2) buffer LookBack {
    uint started;    // workgroups that have taken a tile
    uint unused;
    Unit states[];   // UNITS for each tile's aggregate, then UNITS for each tile's prefix
};

// Defined by the algorithm: the number of tiles.
uint tiles();

shared uint shared_tile;

// Take the next tile. Tiles are assigned in the order in which workgroups start, so all earlier tiles are
// running or finished. With ORDER 0 the tile is the workgroup's number. Devices do not guarantee that
// workgroups start in this order, although many do; the result is correct in any order.
#ifndef ORDER
#define ORDER 1
#endif
uint take_tile() {
#if ORDER
    if (gl_LocalInvocationIndex == 0u)
        shared_tile = atomicAdd(started, 1u);
    barrier();
    return shared_tile;
#else
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
#endif
}

// --- values as bits ---------------------------------------------------------------------------------------

uvec2 bits_of(uint x) { return uvec2(x, 0u); }
uvec2 bits_of(int x) { return uvec2(uint(x), 0u); }
uvec2 bits_of(float x) { return uvec2(floatBitsToUint(x), 0u); }
void set_bits(out uint x, uvec2 bits) { x = bits.x; }
void set_bits(out int x, uvec2 bits) { x = int(bits.x); }
void set_bits(out float x, uvec2 bits) { x = uintBitsToFloat(bits.x); }
#if CARRIED_BITS == 64
#if T_FLOAT
uvec2 bits_of(double x) { return unpackDouble2x32(x); }
void set_bits(out double x, uvec2 bits) { x = packDouble2x32(bits); }
#else
uvec2 bits_of(uint64_t x) { return unpackUint2x32(x); }
uvec2 bits_of(int64_t x) { return unpackUint2x32(uint64_t(x)); }
void set_bits(out uint64_t x, uvec2 bits) { x = packUint2x32(bits); }
void set_bits(out int64_t x, uvec2 bits) { x = int64_t(packUint2x32(bits)); }
#endif
#endif

// --- states -----------------------------------------------------------------------------------------------

void put_state(uint slot, uint status, CARRIED value) {
    uvec2 bits = bits_of(value);
    [[unroll]] for (uint i = 0u; i < UNITS; ++i) {
#if PAYLOAD == 32
        Unit unit = packUint2x32(uvec2(bits[i], status));
#elif PAYLOAD == 30
        Unit unit = bits.x | status << 30;
#else
        Unit unit = (bits[i / 2u] >> (16u * (i % 2u)) & 0xffffu) | status << 16;
#endif
        atomicStore(states[slot * UNITS + i], unit, gl_ScopeDevice, 0, gl_SemanticsRelaxed);
    }
}

uint get_state(uint slot, out CARRIED value) {
    uvec2 bits = uvec2(0u);
    uint status = ABSENT;
    [[unroll]] for (uint i = 0u; i < UNITS; ++i) {
        Unit unit = atomicLoad(states[slot * UNITS + i], gl_ScopeDevice, 0, gl_SemanticsRelaxed);
#if PAYLOAD == 32
        uvec2 words = unpackUint2x32(unit);
        bits[i] = words.x;
        uint unit_status = words.y;
#elif PAYLOAD == 30
        bits.x = unit & 0x3fffffffu;
        uint unit_status = unit >> 30;
#else
        bits[i / 2u] |= (unit & 0xffffu) << (16u * (i % 2u));
        uint unit_status = unit >> 16;
#endif
        status = i == 0u || unit_status == status ? unit_status : ABSENT;
    }
    set_bits(value, bits);
    return status;
}

bool is_silent(uint tile) {
    return SILENT != 0u && tile % SILENT == SILENT - 1u;
}

// Publish the aggregate of a tile. Called by one invocation.
void publish(uint tile, Known own) {
    if (!is_silent(tile) && (MUTE & 1u) == 0u)
        put_state(tile, own.status, own.value);
}

// Publish the prefix of a tile.
void publish_prefix(uint tile, CARRIED value) {
    if (!is_silent(tile) && (MUTE & 2u) == 0u)
        put_state(tiles() + tile, PRESENT, value);
}

// Read the aggregate of a tile.
Known read_aggregate(uint tile) {
    Known state;
    state.status = get_state(tile, state.value);
    return state;
}

// Read the prefix of a tile, if it is known.
bool read_prefix(uint tile, out CARRIED value) {
    if (get_state(tiles() + tile, value) != ABSENT)
        return true;
#if HEADS
    return get_state(tile, value) == HEADED;
#else
    return false;
#endif
}

// Wait for the prefix of a tile, up to the limit of reads. Called by one invocation.
bool await_prefix(uint tile, out CARRIED value) {
    for (uint spins = SPINS; !read_prefix(tile, value); --spins)
        if (spins == 0u)
            return false;
    return true;
}

#endif
