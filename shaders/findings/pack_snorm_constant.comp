// packSnorm4x8() of a constant: a negative component sets the bits of all components after it.
// result: 1 if the packed -1, 0, 0, 0 has bits set above the lowest eight.
#version 460

layout(local_size_x = 64) in;

layout(binding = 0) writeonly buffer Result { uint result[]; };

void main() {
    uint word = packSnorm4x8(vec4(-1.0, 0.0, 0.0, 0.0));
    result[gl_GlobalInvocationID.x] = word == 0x81u ? 0u : 1u;
}
