// Accelerations of bodies by all others, through tiles in shared memory.
#version 460
layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Bodies { vec4 body[]; };
layout(std430, binding = 1) writeonly buffer Forces { vec4 force[]; };
shared vec4 tile[32];
void main() {
    uint i = gl_GlobalInvocationID.x, t = gl_LocalInvocationIndex;
    uint n = uint(body.length());
    vec3 here = body[i].xyz, sum = vec3(0.0);
    for (uint first = 0u; first < n; first += 32u) {
        tile[t] = body[min(first + t, n - 1u)];
        barrier();
        for (uint k = 0u; k < 32u; ++k) {
            vec3 d = tile[k].xyz - here;
            float r = inversesqrt(dot(d, d) + 0.01);
            sum += tile[k].w * r * r * r * d;
        }
        barrier();
    }
    force[i] = vec4(sum, 0.0);
}
