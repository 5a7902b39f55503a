#version 460
// Determinant of a 16 x 16 matrix modulo the prime 65521, by Gaussian elimination with pivots in shared memory.
// matrix: entries below 65521, row by row, of each workgroup. determinants: one a workgroup.

layout(local_size_x = 16) in;
const uint N = gl_WorkGroupSize.x, PRIME = 65521u;
layout(std430, binding = 0) readonly buffer Matrix { uint matrix[][N][N]; };
layout(std430, binding = 1) writeonly buffer Determinants { uint determinants[]; };

shared uint rows[N][N];
shared uint pivot;

uint power(uint base, uint exponent) {
    uint result = 1u;
    for (; exponent != 0u; exponent >>= 1) {
        if ((exponent & 1u) != 0u) result = result * base % PRIME;
        base = base * base % PRIME;
    }
    return result;
}

void main() {
    uint me = gl_LocalInvocationIndex, determinant = 1u;
    for (uint k = 0u; k < N; k++) rows[k][me] = matrix[gl_WorkGroupID.x][k][me];
    barrier();
    for (uint step = 0u; step < N; step++) {
        if (me == 0u) {
            pivot = step;
            while (pivot < N && rows[pivot][step] == 0u) pivot++;
        }
        barrier();
        if (pivot == N) {
            determinant = 0u;
            break;
        }
        if (pivot != step) {
            uint mine = rows[step][me];
            rows[step][me] = rows[pivot][me];
            rows[pivot][me] = mine;
            determinant = PRIME - determinant;
        }
        barrier();
        determinant = determinant * rows[step][step] % PRIME;
        if (me > step) {
            uint factor = PRIME - rows[me][step] * power(rows[step][step], PRIME - 2u) % PRIME;
            for (uint k = step; k < N; k++) rows[me][k] = (rows[me][k] + factor * rows[step][k] % PRIME) % PRIME;
        }
        barrier();
    }
    if (me == 0u) determinants[gl_WorkGroupID.x] = determinant;
}
