// A loop without an end: Turnip's compiler crashes. Only compile it, also without the GPU:
// vkgroup cost shaders/findings/endless_loop.comp --device turnip:740
#version 450
layout(local_size_x = 64) in;

layout(binding = 0) buffer Data { uint data[]; };

void main() {
    while (true)
        data[gl_LocalInvocationIndex] += 1u;
}
