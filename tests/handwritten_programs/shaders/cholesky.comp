#version 460
// Cholesky factor of a symmetric positive definite 16 x 16 matrix, one row an invocation, in shared memory.
// matrix: A of each workgroup, row by row. factor: the lower triangle L with L L^T = A, zeros above.

layout(local_size_x = 16) in;
const uint N = gl_WorkGroupSize.x;
layout(std430, binding = 0) readonly buffer Matrix { float matrix[][N][N]; };
layout(std430, binding = 1) writeonly buffer Factor { float factor[][N][N]; };

shared float lower[N][N + 1u];

void main() {
    uint row = gl_LocalInvocationIndex, which = gl_WorkGroupID.x;
    for (uint column = 0u; column < N; column++) {
        float rest = matrix[which][row][column];
        for (uint k = 0u; k < column; k++) rest -= lower[row][k] * lower[column][k];
        if (row == column) lower[row][row] = sqrt(rest);
        barrier();
        if (row != column) lower[row][column] = row > column ? rest / lower[column][column] : 0.0;
        barrier();
    }
    for (uint column = 0u; column < N; column++) factor[which][row][column] = lower[row][column];
}
