// A return in a loop that never runs: Honeykrisp's compiler does not end. Compile it, also without the GPU:
// vkgroup cost shaders/findings/return_in_loop.comp --device honeykrisp:m1 --timeout 10
#version 460

layout(local_size_x = 64) in;

// 1 in each word.
layout(binding = 0) writeonly buffer Result { uint result[]; };

void main() {
    for (uint trip = 0u;; ++trip) {
        if (trip >= 1u)
            break;
        if (false)
            return;
    }
    result[gl_GlobalInvocationID.x] = 1u;
}
