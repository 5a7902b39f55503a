// Workgroup 1 and later wait for the mail of the one before, which has already started.
#version 460
layout(local_size_x = 32) in;
layout(std430, binding = 0) coherent buffer Mail { uint ticket; uint mail[]; };
layout(std430, binding = 1) writeonly buffer Chain { uint chain[]; };
shared uint turn;
void main() {
    if (gl_LocalInvocationIndex == 0u)
        turn = atomicAdd(ticket, 1u);
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        uint letter = 1u;
        if (turn > 0u)
            while ((letter = atomicOr(mail[turn - 1u], 0u)) == 0u) {}
        atomicExchange(mail[turn], letter + 1u);
        chain[turn] = letter;
    }
}
