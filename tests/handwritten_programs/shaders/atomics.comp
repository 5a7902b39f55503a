#version 460
// Atomic operations of all kinds on signed and unsigned integers, in a buffer and in shared memory.
// values: one int an invocation. buffer_results, shared_results: add, min, max, and, or, xor (signed), then the same
// unsigned; the buffer's as given before, the shared ones from 0, or all ones for min and and.
// tickets: what atomicAdd(…, 1) returned to each invocation. last: exchanged in turn; its old values add up.
// cells: one is claimed by each invocation through atomicCompSwap.

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Values { int values[]; };
layout(std430, binding = 1) buffer BufferResults {
    int signed_results[6];
    uint unsigned_results[6];
};
layout(std430, binding = 2) writeonly buffer SharedResults { uint shared_results[12]; };
layout(std430, binding = 3) writeonly buffer Tickets { uint tickets[]; };
layout(std430, binding = 4) buffer Exchange {
    uint next_ticket;
    uint last;
    uint old_sum;
};
layout(std430, binding = 5) buffer Cells { uint cells[]; };

shared int signed_shared[6];
shared uint unsigned_shared[6];

void main() {
    uint me = gl_LocalInvocationIndex, invocation = gl_GlobalInvocationID.x;
    if (me < 6u) {
        signed_shared[me] = me == 1u ? 0x7fffffff : me == 2u ? int(0x80000000u) : me == 3u ? -1 : 0;
        unsigned_shared[me] = me == 1u || me == 3u ? ~0u : 0u;
    }
    barrier();
    int value = values[invocation];
    uint word = uint(value);
    atomicAdd(signed_results[0], value);
    atomicMin(signed_results[1], value);
    atomicMax(signed_results[2], value);
    atomicAnd(signed_results[3], value);
    atomicOr(signed_results[4], value);
    atomicXor(signed_results[5], value);
    atomicAdd(unsigned_results[0], word);
    atomicMin(unsigned_results[1], word);
    atomicMax(unsigned_results[2], word);
    atomicAnd(unsigned_results[3], word);
    atomicOr(unsigned_results[4], word);
    atomicXor(unsigned_results[5], word);
    atomicAdd(signed_shared[0], value);
    atomicMin(signed_shared[1], value);
    atomicMax(signed_shared[2], value);
    atomicAnd(signed_shared[3], value);
    atomicOr(signed_shared[4], value);
    atomicXor(signed_shared[5], value);
    atomicAdd(unsigned_shared[0], word);
    atomicMin(unsigned_shared[1], word);
    atomicMax(unsigned_shared[2], word);
    atomicAnd(unsigned_shared[3], word);
    atomicOr(unsigned_shared[4], word);
    atomicXor(unsigned_shared[5], word);

    tickets[invocation] = atomicAdd(next_ticket, 1u);
    atomicAdd(old_sum, atomicExchange(last, invocation + 1u));
    uint at = word % uint(cells.length());
    while (atomicCompSwap(cells[at], 0u, invocation + 1u) != 0u) at = (at + 1u) % uint(cells.length());
    barrier();
    if (me < 6u && gl_WorkGroupID.x == 0u) {
        shared_results[me] = uint(signed_shared[me]);
        shared_results[me + 6u] = unsigned_shared[me];
    }
}
