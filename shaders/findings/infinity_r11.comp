#version 460
// Stores +infinity into an image of the format r11f_g11f_b10f, and reads it back.
// binding 0: the image, one texel. result: 1 in invocations that read anything but +infinity in any component.
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
