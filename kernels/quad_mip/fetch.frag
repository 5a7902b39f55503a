// Draws an image and computes its next mip level in the same pass, without quad operations.
//
// The fragment with even coordinates fetches the three other texels of its quad itself. (Derivatives would
// also work, but they are rounded differences, which would have to be added to the texel again.)
//
// picture: the input. color: the drawn image. smaller: the next level, of half the size, rounded down, but at
// least 1.
#version 460

layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform sampler2D picture;
layout(set = 0, binding = 1, rgba32f) uniform writeonly image2D smaller;

vec4 texel(ivec2 at) {
    return texelFetch(picture, min(at, textureSize(picture, 0) - 1), 0);
}

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    color = texel(at);
    if ((at.x & 1) == 0 && (at.y & 1) == 0 && all(lessThan(at / 2, imageSize(smaller)))) {
        vec4 above = color + texel(at + ivec2(1, 0));
        vec4 below = texel(at + ivec2(0, 1)) + texel(at + ivec2(1, 1));
        imageStore(smaller, at / 2, (above + below) * 0.25);
    }
}
