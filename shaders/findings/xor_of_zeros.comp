#version 460
// subgroupXor(0u) in a workgroup of 33, whose last subgroup has one invocation. Reduced from a random program; every
// remaining part is necessary.
//
// binding 0, inputs:  5 for each invocation.
// binding 1, outputs: zeros before, 32 words for each invocation; after, the second of them is the result: 0. On
//                     an affected driver other bits are set.
//
//     vkgroup run shaders/findings/xor_of_zeros.comp --groups 1 --in inputs=fives.npy --out 'outputs=uint32[1088]:outputs.npy'
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_vote : require

layout(local_size_x = 33) in;
layout(binding = 0) buffer Inputs { uint inputs[]; };
layout(binding = 1) buffer Outputs { uint outputs[]; };

uint cursor;

void put(uint at, bvec3 v) {
    outputs[at] = v.x ? 1u : v.y ? 1u : v.z ? 1u : 0u;
}

void record(uint step, bvec3 v) {
    put(cursor, v);
}

void put(uint at, u64vec4 v) {
    outputs[at] = unpackUint2x32(v.z).x;
    outputs[at] = unpackUint2x32(v.z).y;
    outputs[at] = unpackUint2x32(v.w).x;
    outputs[at] = unpackUint2x32(v.w).y;
}

void record(uint step, u64vec4 v) {
    put(cursor, v);
}

void put(uint at, uint v) {
    outputs[at] = v;
}

void record(uint step, uint v) {
    put(cursor + 1u, v);
}

bvec3 make_bvec3(uint w) {
    return bvec3(w, w + 1u & 1u, w * 7u & 1u);
}

u64vec4 make_u64vec4(uint w) {
    return u64vec4(
        1u, 1u, packUint2x32(uvec2(w, (w + 2u) * 7u)), packUint2x32(uvec2(w * 9u + 3u, (w * 9u + 3u) * 7u)));
}

u64vec4 twice(uint given, bvec3 unused) {
    u64vec4 made = make_u64vec4(given);
    for (uint trip = 0u; trip < 2u; ++trip) {
        uint zero = subgroupXor(0u);
        record(1u, zero);
    }
    return made;
}

void main() {
    uint invocation = gl_LocalInvocationIndex;
    cursor = invocation * gl_SubgroupSize;
    uint data = inputs[invocation];
    bvec3 first = make_bvec3(data);
    bvec3 second = make_bvec3(data);
    bvec3 third = make_bvec3(data * 5u);
    u64vec4 wide = make_u64vec4(data + 3u);
    u64vec4 kept;
    uint given = data;
    twice(0u, bvec3(false));
    record(5u, first);
    for (uint trip = 0u; subgroupAny(trip < 1u); ++trip) {
        bvec3 equal_first = subgroupBroadcast(equal(second, first), subgroupBallotFindLSB(subgroupBallot(true)));
        record(12u, equal_first);
        first = equal_first;
        kept = twice(given, bvec3(false));
    }
    record(15u, wide);
    record(16u, kept);
    record(19u, third);
}
