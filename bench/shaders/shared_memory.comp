#version 460
#extension GL_EXT_control_flow_attributes : require
// Maximum rate of shared-memory reads: vectors of 16 bytes; adjacent invocations read adjacent vectors,
// without conflicts.
//
// In each round an invocation reads 8 vectors from a moving position, and adds them. The memory holds every
// vector twice, so that positions need not wrap around. binding 0: the sums of each invocation.
layout(local_size_x = 256, local_size_x_id = 0) in;
const uint READS = 8u;  // of one round, at fixed distances
layout(std430, binding = 0) writeonly buffer Sums { uvec4 sums[]; };
layout(push_constant) uniform Push { uint rounds; uint seed; } push;
shared uvec4 memory[2u * gl_WorkGroupSize.x + READS];

void main() {
    const uint local = gl_LocalInvocationID.x, size = gl_WorkGroupSize.x;
    for (uint i = local; i < 2u * size + READS; i += size) memory[i] = (i % size) * 0x9e3779b9u + push.seed + uvec4(0u, 1u, 2u, 3u);
    barrier();
    uvec4 sum = uvec4(0u);
    for (uint n = 0u; n < push.rounds; ++n) {
        const uint at = local + n * READS % size;
        [[unroll]] for (uint k = 0u; k < READS; ++k) sum += memory[at + k];
    }
    sums[gl_GlobalInvocationID.x] = sum;
}
