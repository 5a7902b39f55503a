#version 460
// The text's fragment shader for quads as a compute shader: four invocations add their colours, one stores the sum in
// an image of half the size. Needs full subgroups.
// colors: one vec4 an invocation. lowResFrame: the sum of each quad, at x = the quad's number, y = the workgroup.
// lanes: gl_SubgroupID and gl_SubgroupInvocationID.
#extension GL_KHR_shader_subgroup_quad : require

layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Colors { vec4 colors[]; };
layout(rgba32f, binding = 1) uniform writeonly image2D lowResFrame;
layout(std430, binding = 2) writeonly buffer Lanes { uvec2 lanes[]; };

void main() {
    vec4 inColor = colors[gl_GlobalInvocationID.x];
    vec4 lowResColor = inColor + subgroupQuadSwapHorizontal(inColor);
    lowResColor += subgroupQuadSwapVertical(lowResColor);

    // Only the 0'th invocation of each quad will enter here and do the image store
    if (gl_SubgroupInvocationID == subgroupQuadBroadcast(gl_SubgroupInvocationID, 0)) {
        uint quad = (gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID) / 4;
        imageStore(lowResFrame, ivec2(quad, gl_WorkGroupID.x), lowResColor);
    }
    lanes[gl_GlobalInvocationID.x] = uvec2(gl_SubgroupID, gl_SubgroupInvocationID);
}
