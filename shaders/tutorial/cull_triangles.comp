#version 460
// Keeps the triangles that face the viewer: counter-clockwise in x and y, with an area greater than 0.
// in_triangles: three vertices per invocation. out_triangles_size: number of vertices kept; 0 before.
// out_triangles: these vertices, with those of a triangle together; triangles in any order.
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 128, local_size_y = 1, local_size_z = 1) in;

struct PerVertexData {
    float x;
    float y;
    float z;
    float u;
    float v;
};
layout(std430, set = 0, binding = 0) readonly buffer layout_in_triangles { PerVertexData in_triangles[]; };
layout(std430, set = 0, binding = 1) buffer layout_out_triangles {
    uint out_triangles_size;
    PerVertexData out_triangles[];
};

void main() {
    // Get the 3 vertices for our triangle
    PerVertexData x = in_triangles[gl_GlobalInvocationID.x * 3 + 0];
    PerVertexData y = in_triangles[gl_GlobalInvocationID.x * 3 + 1];
    PerVertexData z = in_triangles[gl_GlobalInvocationID.x * 3 + 2];

    // Check whether the triangle should be culled or not
    bool care_about_triangle = (y.x - x.x) * (z.y - x.y) - (z.x - x.x) * (y.y - x.y) > 0.0;
    uint vertices_to_keep = care_about_triangle ? 3 : 0;
    uint local_index = subgroupExclusiveAdd(vertices_to_keep);

    // Find out which active invocation has the highest ID
    uint highestActiveID = subgroupBallotFindMSB(subgroupBallot(true));
    uint global_index = 0;

    // If we're the highest active ID
    if (highestActiveID == gl_SubgroupInvocationID) {
        // We need to carve out a slice of out_triangles for our triangle
        uint local_size = local_index + vertices_to_keep;
        global_index = atomicAdd(out_triangles_size, local_size);
    }
    global_index = subgroupMax(global_index);

    if (care_about_triangle) {
        out_triangles[global_index + local_index + 0] = x;
        out_triangles[global_index + local_index + 1] = y;
        out_triangles[global_index + local_index + 2] = z;
    }
}
