#version 460
// The assigning half of a step of k-means: the nearest of eight centres, counts and sums of each cluster's points.
// points: vec3 (16 bytes apart). centres: eight vec4. nearest: the cluster of each point (of equally near ones the
// lower). clusters: sums of the points' coordinates and their number; 0 before.

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Points { vec3 points[]; };
layout(std140, binding = 1) uniform Centres { vec4 centres[8]; };
layout(std430, binding = 2) writeonly buffer Nearest { uint nearest[]; };
layout(std430, binding = 3) buffer Clusters { int clusters[8][4]; };

shared int sums[8][4];

void main() {
    uint me = gl_LocalInvocationIndex;
    if (me < 32u) sums[me / 4u][me % 4u] = 0;
    barrier();
    vec3 point = points[gl_GlobalInvocationID.x];
    uint best = 0u;
    float least = 1.0e30;
    for (uint k = 0u; k < 8u; k++) {
        vec3 away = point - centres[k].xyz;
        float distance = dot(away, away);
        if (distance < least) {
            least = distance;
            best = k;
        }
    }
    nearest[gl_GlobalInvocationID.x] = best;
    ivec4 part = ivec4(point, 1);
    for (int axis = 0; axis < 4; axis++) atomicAdd(sums[best][axis], part[axis]);
    barrier();
    if (me < 32u) atomicAdd(clusters[me / 4u][me % 4u], sums[me / 4u][me % 4u]);
}
