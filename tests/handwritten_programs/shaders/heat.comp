#version 460
// Jacobi steps on a plate of 18 x 18 whose edge is fixed, in whole numbers, until nothing changes by more than a
// unit or the steps are used up.
// plate: temperatures in place. steps_taken: how many steps it took.

layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { uint steps; };
layout(std430, binding = 0) buffer Plate { int plate[18][18]; };
layout(std430, binding = 1) writeonly buffer Taken { uint steps_taken; };

shared int now[18][18];
shared uint changed;

void main() {
    uvec2 at = gl_LocalInvocationID.xy + 1u;
    for (uint k = gl_LocalInvocationIndex; k < 18u * 18u; k += 256u) now[k / 18u][k % 18u] = plate[k / 18u][k % 18u];
    uint step = 0u;
    bool go_on = true;
    while (go_on && step < steps) {
        if (gl_LocalInvocationIndex == 0u) changed = 0u;
        barrier();
        int around = now[at.y - 1u][at.x] + now[at.y + 1u][at.x] + now[at.y][at.x - 1u] + now[at.y][at.x + 1u];
        int next = around >> 2, before = now[at.y][at.x];
        barrier();
        now[at.y][at.x] = next;
        if (abs(next - before) > 1) atomicOr(changed, 1u);
        barrier();
        go_on = changed != 0u;
        barrier();
        step++;
    }
    // All have read the plate: barrier() alone orders shared memory, not buffers.
    memoryBarrierBuffer();
    barrier();
    plate[at.y][at.x] = now[at.y][at.x];
    if (gl_LocalInvocationIndex == 0u) steps_taken = step;
}
