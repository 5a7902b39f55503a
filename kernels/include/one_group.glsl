// An array that one workgroup handles, tile by tile: what look_back_*.glsl define, without states in memory.
//
// What comes before a tile is what the workgroup found in the tiles before, which every invocation knows.
//
// Macros: CARRIED, COMBINE(a, b) and IDENTITY, as in look_back.glsl.
#ifndef ONE_GROUP_GLSL
#define ONE_GROUP_GLSL

const uint PRESENT = 1u;
const uint HEADED = 2u;

struct Known {
    uint status;
    CARRIED value;
};

CARRIED carried_from_tiles_before = IDENTITY;

// Two places, used in turn: one is written while slow invocations still read the other.
shared Known known_of_tile[2];

void publish(uint tile, Known own) {
    known_of_tile[tile % 2u] = own;
}

// Contains a barrier, as that of an array that several workgroups handle.
CARRIED find_before(uint tile, Known own) {
    barrier();
    CARRIED before = carried_from_tiles_before;
    Known known = known_of_tile[tile % 2u];
    carried_from_tiles_before = known.status == HEADED ? known.value : COMBINE(before, known.value);
    return before;
}

#endif
