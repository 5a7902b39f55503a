#version 460
// Run-length encoding by one workgroup: a scan of the runs' beginnings numbers them.
// symbols: one uint an invocation. runs: symbol and length of each run, in order. run_count: how many runs.

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Symbols { uint symbols[]; };
layout(std430, binding = 1) writeonly buffer Runs { uvec2 runs[]; };
layout(std430, binding = 2) writeonly buffer Count { uint run_count; };

shared uint numbers[gl_WorkGroupSize.x];
shared uint starts[gl_WorkGroupSize.x + 1u];

void main() {
    const uint length = gl_WorkGroupSize.x;
    uint me = gl_LocalInvocationIndex, symbol = symbols[me];
    bool begins = me == 0u || symbols[me - 1u] != symbol;
    uint number = begins ? 1u : 0u;
    numbers[me] = number;
    barrier();
    for (uint reach = 1u; reach < length; reach *= 2u) {
        if (me >= reach) number += numbers[me - reach];
        barrier();
        numbers[me] = number;
        barrier();
    }
    uint total = numbers[length - 1u];
    if (begins) starts[number - 1u] = me;
    if (me == 0u) starts[total] = length;
    barrier();
    if (begins) runs[number - 1u] = uvec2(symbol, starts[number] - me);
    if (me == 0u) run_count = total;
}
