#version 460
// Stores +infinity into an image with the format r11f_g11f_b10f and loads it again.
// binding 0: the image, one texel. result: 1 in invocations that load another value than +infinity in a component.
layout(local_size_x = 64) in;
layout(std430, binding = 1) writeonly buffer Result { uint result[]; };
layout(r11f_g11f_b10f, binding = 0) coherent uniform image2D picture;

void main() {
    if (gl_LocalInvocationIndex == 0u) {
        float infinity = uintBitsToFloat(0x7f800000u);
        imageStore(picture, ivec2(0), vec4(infinity));
    }
    memoryBarrierImage();
    barrier();
    vec3 found = imageLoad(picture, ivec2(0)).rgb;
    result[gl_LocalInvocationIndex] = all(isinf(found)) ? 0u : 1u;
}
