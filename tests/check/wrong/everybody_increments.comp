// Counts the values above a threshold.
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer Values { float values[]; };
layout(binding = 1) buffer Result { uint above; };
void main() {
    if (values[gl_GlobalInvocationID.x] > 0.5)
        above += 1u; // expect: race
}
