// Sum of tiles whose size a specialization constant sets.
#version 460
layout(local_size_x_id = 1) in;
layout(constant_id = 0) const uint TILE = 4;
layout(constant_id = 2) const bool squared = true;
layout(binding = 0) readonly buffer Input { uint x[]; };
layout(binding = 1) writeonly buffer Output { uint y[]; };
layout(local_size_x = 16) in;
shared uint s[TILE * 16u];
void main() {
    uint i = gl_GlobalInvocationID.x, t = gl_LocalInvocationIndex;
    for (uint k = 0u; k < TILE; ++k)
        s[t * TILE + k] = x[(i + k) % uint(x.length())];
    uint sum = 0u;
    for (uint k = 0u; k < TILE; ++k)
        sum += squared ? s[t * TILE + k] * s[t * TILE + k] : s[t * TILE + k];
    y[i] = sum;
}
