// y = a x + y in a loop over the grid, so that any number of workgroups will do.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };
layout(push_constant) uniform Push { float a; uint n; };
void main() {
    uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < n; i += step)
        y[i] = a * x[i] + y[i];
}
