// One step of a wave equation. Each group also refreshes the cells that border on it.
#version 460
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer Now { float now[]; };
layout(binding = 1) writeonly buffer Next { float next[]; };
void step_cell(uint i) {
    uint last = uint(now.length()) - 1u;
    next[i] = now[i] + 0.1 * (now[i == 0u ? 0u : i - 1u] - 2.0 * now[i] + now[min(i + 1u, last)]) // expect: race
            + float(gl_WorkGroupID.x);
}
void main() {
    uint i = gl_GlobalInvocationID.x;
    step_cell(i);
    if (gl_LocalInvocationIndex == 31u && i + 1u < uint(now.length()))
        step_cell(i + 1u);
}
