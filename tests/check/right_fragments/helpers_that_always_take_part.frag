#version 450
#extension GL_EXT_spirv_intrinsics : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_KHR_shader_subgroup_clustered : require
// RequireFullQuadsKHR and MaximallyReconvergesKHR, without a compiler that has their extensions.
spirv_execution_mode(extensions = ["SPV_KHR_quad_control"], capabilities = [5087], 5089);
spirv_execution_mode(extensions = ["SPV_KHR_maximal_reconvergence"], 6023);

// The quad's maximum by a cluster of four: with full quads and maximal reconvergence, helpers take part.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;

void main()
{
    float most = subgroupClusteredMax(uv.x, 4u);
    color = vec4(most, subgroupQuadBroadcast(uv.y, 0u), 0.0, 1.0);
}
