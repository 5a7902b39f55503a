#version 460
// Specialization constants in the workgroup's size, an array's length, a loop, a branch and expressions of them.
// results: for each invocation a polynomial of its index, of as many coefficients as LENGTH says.

layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const uint LENGTH = 3u;
layout(constant_id = 3) const bool ALTERNATE = false;
layout(constant_id = 4) const int OFFSET = 5;
layout(constant_id = 5) const float SCALE = 1.0;
const uint DOUBLE = 2u * LENGTH + 1u, MASK = (1u << LENGTH) - 1u;
const int CHOICE = ALTERNATE ? OFFSET * 3 : OFFSET % 4 + 100;
layout(std430, binding = 0) writeonly buffer Results { vec4 results[]; };

shared uint powers[DOUBLE];

void main() {
    uint coefficients[LENGTH], me = gl_LocalInvocationIndex, sum = 0u;
    uint size = gl_WorkGroupSize.x * gl_WorkGroupSize.y;
    for (uint k = 0u; k < LENGTH; k++) coefficients[k] = ALTERNATE && k % 2u == 1u ? 0u - k : k + 1u;
    for (uint k = me; k < DOUBLE; k += size) powers[k] = k * k + size;
    barrier();
    for (uint k = LENGTH; k-- > 0u;) sum = sum * (me % 4u) + coefficients[k];
    results[gl_WorkGroupID.x * size + me] = vec4(float(sum & MASK), powers[me % DOUBLE], SCALE * me, CHOICE);
}
