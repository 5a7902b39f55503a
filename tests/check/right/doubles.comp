// Newton's steps towards the square root, in double precision.
#version 460
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A { double a[]; };
layout(binding = 1) writeonly buffer Roots { double roots[]; };
void main() {
    double x = a[gl_GlobalInvocationID.x];
    double r = 1.0lf;
    for (int k = 0; k < 6; ++k)
        r = 0.5lf * (r + x / r);
    roots[gl_GlobalInvocationID.x] = r;
}
