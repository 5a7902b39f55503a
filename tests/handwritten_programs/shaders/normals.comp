#version 460
// Normals of triangles: a stream of vec3 without padding, normalised; zero where a triangle has no area.
// corners: nine floats a triangle. normals: one vec3 a triangle. areas: twice the area.
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 32) in;
layout(scalar, binding = 0) readonly buffer Corners { vec3 corners[][3]; };
layout(scalar, binding = 1) writeonly buffer Normals { vec3 normals[]; };
layout(scalar, binding = 2) writeonly buffer Areas { float areas[]; };

void main() {
    uint me = gl_GlobalInvocationID.x;
    vec3 edge = corners[me][1] - corners[me][0], other = corners[me][2] - corners[me][0];
    vec3 normal = cross(edge, other);
    float area = length(normal);
    normals[me] = area > 0.0 ? normalize(normal) : vec3(0.0);
    areas[me] = area;
}
