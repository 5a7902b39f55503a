// Reverses each block of 64 values; invocations past the end leave first.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Source { uint source[]; };
layout(binding = 1) writeonly buffer Target { uint target[]; };
layout(push_constant) uniform Push { uint count; };
shared uint block[64];
void main() {
    uint i = gl_GlobalInvocationID.x, t = gl_LocalInvocationIndex;
    block[t] = 0u;
    barrier();
    if (i >= count)
        return;
    block[t] = source[i];
    barrier(); // expect: barrier
    target[i] = block[t & 62u];
}
