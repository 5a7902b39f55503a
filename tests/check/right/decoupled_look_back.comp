// Inclusive prefix sum over all workgroups in one pass: each publishes its sum, then its prefix, and looks back.
// A word holds a state (1: sum, 2: prefix) in its two top bits and a value in the rest. Workgroups take numbers
// in the order in which they start, so that whoever waits waits for one that runs.
#version 460
layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Input { uint x[]; };
layout(std430, binding = 1) writeonly buffer Output { uint y[]; };
layout(std430, binding = 2) coherent buffer State { uint ticket; uint state[]; };
const uint SUM = 1u << 30, PREFIX = 2u << 30, VALUE = (1u << 30) - 1u;
shared uint group, before, s[32];
void main() {
    uint t = gl_LocalInvocationIndex;
    if (t == 0u)
        group = atomicAdd(ticket, 1u);
    barrier();
    uint i = group * 32u + t;
    s[t] = x[i];
    barrier();
    if (t == 0u) {
        for (uint k = 1u; k < 32u; ++k)
            s[k] += s[k - 1u];
        uint sum = s[31], prefix = 0u;
        if (group > 0u) {
            atomicExchange(state[group], SUM | sum);
            uint at = group - 1u;
            while (true) {
                uint word = atomicOr(state[at], 0u);
                if ((word & ~VALUE) == 0u)
                    continue;
                prefix += word & VALUE;
                if ((word & PREFIX) != 0u)
                    break;
                --at;
            }
        }
        atomicExchange(state[group], PREFIX | (prefix + sum));
        before = prefix;
    }
    barrier();
    y[i] = before + s[t];
}
