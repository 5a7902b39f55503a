// Odd lanes consume what even lanes produce.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) coherent buffer Mail { uint mail[]; };
layout(binding = 1) writeonly buffer Received { uint received[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if ((i & 1u) == 1u) {
        uint letter;
        do {
            letter = atomicAdd(mail[i ^ 1u], 0u);
        } while (letter == 0u); // expect: hang
        received[i] = letter;
    } else {
        atomicExchange(mail[i], i + 1u);
        received[i] = 0u;
    }
}
