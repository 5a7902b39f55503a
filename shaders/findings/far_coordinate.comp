#version 450

// Samples an image at coordinates far beyond its edge. The sampler clamps to the edge, so that the texel is the
// last one, however far the coordinate is.

layout(local_size_x = 16) in;
layout(binding = 0) uniform sampler1D row;
layout(binding = 1) writeonly buffer Results { float result[]; };

void main() {
    // 1, 16, 256, … times the width of the image.
    float far = exp2(4.0 * float(gl_LocalInvocationID.x));
    result[gl_LocalInvocationID.x] = textureLod(row, far, 0.0).x;
}
