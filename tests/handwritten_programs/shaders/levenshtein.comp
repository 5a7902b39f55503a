#version 460
// Edit distance of pairs of words, one pair a workgroup, along the diagonals of the table: an invocation a column.
// words: two words a pair, up to 48 letters each (one a uint). lengths: of both. distances: one a pair.

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Words { uint words[][2][48]; };
layout(std430, binding = 1) readonly buffer Lengths { uvec2 lengths[]; };
layout(std430, binding = 2) writeonly buffer Distances { uint distances[]; };

// Diagonal d at column c holds the distance of c letters of the second word and d - c of the first.
shared uint diagonals[3][50];

void main() {
    uint pair = gl_WorkGroupID.x, column = gl_LocalInvocationIndex;
    uvec2 length = lengths[pair];
    for (uint diagonal = 0u; diagonal <= length.x + length.y; diagonal++) {
        uint row = diagonal - column, now = diagonal % 3u;
        uint last = (diagonal + 2u) % 3u, second_last = (diagonal + 1u) % 3u;
        if (column <= length.y && column <= diagonal && row <= length.x) {
            uint best;
            if (row == 0u || column == 0u) {
                best = diagonal;
            } else {
                uint change = words[pair][0][row - 1u] == words[pair][1][column - 1u] ? 0u : 1u;
                best = diagonals[second_last][column - 1u] + change;
                best = min(best, 1u + min(diagonals[last][column], diagonals[last][column - 1u]));
            }
            diagonals[now][column] = best;
        }
        barrier();
    }
    if (column == 0u) distances[pair] = diagonals[(length.x + length.y) % 3u][length.y];
}
