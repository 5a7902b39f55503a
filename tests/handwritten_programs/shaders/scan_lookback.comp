#version 460
// Inclusive prefix sums of a long array in one pass, with decoupled look-back: a workgroup publishes its own sum, adds
// up what those before it have published, and publishes its prefix. Workgroups take numbers in the order in which they
// start, so one never waits for another that has not begun.
// values: one uint an invocation. sums: the sum of all values up to it (below 2^30).
// ticket: the next workgroup's number; 0 before. status: for each workgroup 0 before; then in the two highest bits
// LOCAL or PREFIX, below them the sum.

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Sums { uint sums[]; };
layout(std430, binding = 2) coherent buffer State {
    uint ticket;
    uint status[];
};

const uint LOCAL = 1u << 30, PREFIX = 2u << 30, VALUE = LOCAL - 1u;

shared uint number, before, scan[gl_WorkGroupSize.x];

uint look_back(uint group) {
    uint sum = 0u, at = group;
    while (at > 0u) {
        uint word = atomicOr(status[at - 1u], 0u);
        if ((word & ~VALUE) == 0u) continue;
        sum += word & VALUE;
        if ((word & PREFIX) != 0u) break;
        at--;
    }
    return sum;
}

void main() {
    uint me = gl_LocalInvocationIndex;
    if (me == 0u) number = atomicAdd(ticket, 1u);
    barrier();
    uint group = number, index = group * gl_WorkGroupSize.x + me;
    scan[me] = values[index];
    barrier();
    for (uint reach = 1u; reach < gl_WorkGroupSize.x; reach *= 2u) {
        uint other = me >= reach ? scan[me - reach] : 0u;
        barrier();
        scan[me] += other;
        barrier();
    }
    if (me == gl_WorkGroupSize.x - 1u) {
        uint sum = scan[me];
        atomicExchange(status[group], LOCAL | sum);
        before = look_back(group);
        atomicExchange(status[group], PREFIX | (before + sum));
    }
    barrier();
    sums[index] = before + scan[me];
}
