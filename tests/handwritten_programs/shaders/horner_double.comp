#version 460
// Polynomials in double precision by Horner's rule, and their derivatives.
// coefficients: eight doubles, the highest first. places: one double an invocation. values: polynomial and derivative.

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Coefficients { double coefficients[8]; };
layout(std430, binding = 1) readonly buffer Places { double places[]; };
layout(std430, binding = 2) writeonly buffer Values { dvec2 values[]; };

void main() {
    double x = places[gl_GlobalInvocationID.x];
    dvec2 value = dvec2(coefficients[0], 0.0LF);
    for (int k = 1; k < 8; k++) value = value * x + dvec2(coefficients[k], value.x);
    values[gl_GlobalInvocationID.x] = value;
}
