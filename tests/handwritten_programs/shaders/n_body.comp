#version 460
// Gravity between all bodies, tile by tile through shared memory.
// bodies: place and mass. accelerations: sum of m (p - q) / (|p - q|^2 + 1/4)^(3/2) over the bodies q.

layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Bodies { vec4 bodies[]; };
layout(std430, binding = 1) writeonly buffer Accelerations { vec3 accelerations[]; };

shared vec4 tile[gl_WorkGroupSize.x];

vec3 pull(vec3 place, vec4 body) {
    vec3 distance = body.xyz - place;
    float inverse = inversesqrt(dot(distance, distance) + 0.25);
    return body.w * (inverse * inverse * inverse) * distance;
}

void main() {
    uint bodies_count = uint(bodies.length());
    vec3 place = bodies[gl_GlobalInvocationID.x].xyz, sum = vec3(0.0);
    for (uint start = 0u; start < bodies_count; start += gl_WorkGroupSize.x) {
        tile[gl_LocalInvocationIndex] = bodies[start + gl_LocalInvocationIndex];
        barrier();
        for (uint k = 0u; k < gl_WorkGroupSize.x; k++) sum += pull(place, tile[k]);
        barrier();
    }
    accelerations[gl_GlobalInvocationID.x] = sum;
}
