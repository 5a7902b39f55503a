// An array of one tile: what look_back_*.glsl define, without states in memory. Nothing comes before the tile.
//
// Macros: CARRIED and IDENTITY, as in look_back.glsl.
#ifndef ONE_TILE_GLSL
#define ONE_TILE_GLSL

const uint PRESENT = 1u;
const uint HEADED = 2u;

struct Known {
    uint status;
    CARRIED value;
};

uint take_tile() {
    return 0u;
}

void publish(uint tile, Known own) {}

// Contains a barrier, as that of an array of several tiles.
CARRIED find_before(uint tile, Known own) {
    barrier();
    return IDENTITY;
}

#endif
