// Stores +infinity beside 1 into an image of float16. Components are converted one by one, so that 1 stays 1.
#version 450
layout(local_size_x = 4) in;

layout(binding = 0, rgba16f) uniform writeonly image1D picture;

// Floats; +infinity here.
layout(binding = 1) readonly buffer Numbers { float numbers[]; };

void main() {
    float number = numbers[gl_LocalInvocationIndex];
    imageStore(picture, int(gl_LocalInvocationIndex), vec4(number, 1.0, number, 1.0));
}
