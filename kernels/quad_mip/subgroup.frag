// Draws an image and computes its next mip level in the same pass, with quad operations.
//
// Every fragment fetches its own texel. Two swaps add the four texels of a quad, and the fragment with even
// coordinates stores their mean. At the edges of an image of odd size, the other fragments of a quad are
// helper invocations, which take part in the swaps and fetch the texel at the edge.
//
// picture: the input. color: the drawn image. smaller: the next level, of half the size, rounded down, but at
// least 1.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_quad : require

layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform sampler2D picture;
layout(set = 0, binding = 1, rgba32f) uniform writeonly image2D smaller;

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    color = texelFetch(picture, min(at, textureSize(picture, 0) - 1), 0);
    vec4 pair = color + subgroupQuadSwapHorizontal(color);
    vec4 four = pair + subgroupQuadSwapVertical(pair);
    if ((at.x & 1) == 0 && (at.y & 1) == 0 && all(lessThan(at / 2, imageSize(smaller))))
        imageStore(smaller, at / 2, four * 0.25);
}
