// Weight by the kind of a particle; kinds are 0 to 3.
#version 460
layout(local_size_x = 64) in;
struct Particle { vec3 position; uint kind; };
layout(std430, binding = 0) readonly buffer Particles { Particle p[]; } particles;
layout(std430, binding = 1) writeonly buffer Weights { float w[]; } weights;

float weight(uint kind) {
    float w; // expect: undefined
    switch (kind) {
        case 0u: w = 1.0; break;
        case 1u: w = 0.5; break;
        case 2u: w = 0.25; break;
    }
    return w;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    weights.w[i] = weight(particles.p[i].kind & 3u) * particles.p[i].position.z;
}
