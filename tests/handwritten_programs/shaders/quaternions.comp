#version 460
// Rotates points by quaternions, moves them, and multiplies quaternions: structs in scalar layout (no padding).
// poses: quaternion and offset of each. points: one vec3 an invocation, moved in place by the pose that it is given.
// chain: the product of all poses' quaternions up to the invocation's modulo the number of poses.
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 64) in;
struct Pose {
    vec4 rotation;
    vec3 offset;
};
layout(scalar, binding = 0) uniform Poses { Pose poses[5]; };
layout(scalar, binding = 1) buffer Points { vec3 points[]; };
layout(scalar, binding = 2) writeonly buffer Chain { vec4 chain[]; };

vec3 rotate(vec4 q, vec3 v) {
    vec3 t = 2.0 * cross(q.xyz, v);
    return v + q.w * t + cross(q.xyz, t);
}

vec4 times(vec4 p, vec4 q) {
    return vec4(p.w * q.xyz + q.w * p.xyz + cross(p.xyz, q.xyz), p.w * q.w - dot(p.xyz, q.xyz));
}

void main() {
    uint me = gl_GlobalInvocationID.x, which = me % 5u;
    Pose pose = poses[which];
    points[me] = rotate(pose.rotation, points[me]) + pose.offset;
    vec4 product = poses[0].rotation;
    for (uint k = 1u; k <= which; k++) product = times(product, poses[k].rotation);
    chain[me] = product;
}
