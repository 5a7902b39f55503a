// Particles that are still alive, in whatever order.
#version 460
layout(local_size_x = 32) in;
struct Particle { vec4 position; float age; uint id; };
layout(std430, binding = 0) readonly buffer Old { Particle old[]; };
layout(std430, binding = 1) buffer Alive { uint alive; Particle young[]; };
void main() {
    Particle p = old[gl_GlobalInvocationID.x];
    p.age += 0.01;
    if (p.age < 0.7) {
        uint slot = atomicAdd(alive, 1u);
        young[slot] = p;
    }
}
