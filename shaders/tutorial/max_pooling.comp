#version 460
// Max pooling of 4x4 blocks, each block a cluster of 16 invocations. The workgroup must be one full subgroup of at least
// 16, so its size is a specialization constant. (The tutorial reads one layer further in z than it writes.)
// inImage: width 4 numClusters and height 4 for each workgroup. outImage: the maximum of each block.
#extension GL_KHR_shader_subgroup_clustered : require

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(r16f, set = 0, binding = 0) uniform readonly image3D inImage;
layout(r16f, set = 0, binding = 1) uniform writeonly image3D outImage;

void main() {
    // The subgroup as blocks, for a size of 32:
    // x 0  1  2  3  4  5  6  7
    // y+------------------------
    // 0| 0  1  2  3 16 17 18 19
    // 1| 4  5  6  7 20 21 22 23
    // 2| 8  9 10 11 24 25 26 27
    // 3|12 13 14 15 28 29 30 31
    uint numClusters = gl_SubgroupSize / 16;
    uint clusterID = gl_SubgroupInvocationID / 16;
    uint x = (clusterID * 4) + (gl_SubgroupInvocationID % 4);
    uint y = (gl_SubgroupInvocationID / 4) % 4;
    uvec3 inIndex = gl_WorkGroupID * uvec3(numClusters * 4, 4, 1) + uvec3(x, y, 0);
    float load = imageLoad(inImage, ivec3(inIndex)).x;
    float max = subgroupClusteredMax(load, 16);
    if (0 == (gl_SubgroupInvocationID % 16)) {
        uvec3 outIndex = gl_WorkGroupID;
        outIndex.x = outIndex.x * numClusters + clusterID;
        imageStore(outImage, ivec3(outIndex), vec4(max));
    }
}
