#version 450
// Draws an image, and in the same pass one of half its size: one fragment of each quad stores the quad's sum.
// inColor: the image. color: the same. lowResFrame: for each quad the sum of its four colors.
#extension GL_KHR_shader_subgroup_quad : enable

layout(location = 0) in vec3 inColor;

layout(location = 0) out vec3 color;

layout(set = 0, binding = 0) uniform writeonly image2D lowResFrame;

void main() {
    vec3 lowResColor = inColor + subgroupQuadSwapHorizontal(inColor);
    lowResColor += subgroupQuadSwapVertical(lowResColor);

    // Store the color out to the framebuffer
    color = inColor;

    // Only the 0'th pixel of each quad will enter here and do the image store
    if (gl_SubgroupInvocationID == subgroupQuadBroadcast(gl_SubgroupInvocationID, 0)) {
        ivec2 coord = ivec2(gl_FragCoord.xy / 2.0f);
        imageStore(lowResFrame, coord, vec4(lowResColor, 1.0f));
    }
}
