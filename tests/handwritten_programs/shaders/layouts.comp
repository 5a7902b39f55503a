#version 460
// The same record in std140, std430 and scalar layout: copied from one to the other, member by member, with dynamic
// indices; a push constant says which way round an array goes.
// uniform_records: std140. records: std430. packed_records: scalar.
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 16) in;
struct Inner {
    float weight;
    ivec2 pair;
};
struct Record {
    vec3 place;
    uint id;
    Inner inners[3];
    mat2x3 frame;
    float tail[2];
};
layout(push_constant) uniform Push {
    layout(offset = 16) bool reverse;
    uint rotation;
};
layout(std140, binding = 0) uniform UniformRecords { Record uniform_records[16]; };
layout(std430, binding = 1) writeonly buffer Records { Record records[]; };
layout(scalar, binding = 2) writeonly buffer PackedRecords { Record packed_records[]; };

void main() {
    uint me = gl_GlobalInvocationID.x;
    Record record = uniform_records[me];
    records[me] = record;
    Record turned = record;
    for (uint k = 0u; k < 3u; k++) {
        uint from = (reverse ? 2u - k : k) + rotation;
        turned.inners[k] = record.inners[from % 3u];
        turned.inners[k].pair[(me + k) & 1u] += int(me);
    }
    turned.frame[me & 1u] = turned.frame[me & 1u].zxy;
    turned.tail[me % 2u] = record.place[me % 3u];
    packed_records[me] = turned;
}
