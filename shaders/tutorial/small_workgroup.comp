#version 460
// Workgroups of one invocation: in a subgroup of more lanes, all others are inactive. Each squares one value.
// values: one uint per workgroup. squares: their squares.

layout(local_size_x = 1, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) readonly buffer Values { uint values[]; };
layout(std430, binding = 1) writeonly buffer Squares { uint squares[]; };

void main() {
    uint value = values[gl_WorkGroupID.x];
    squares[gl_WorkGroupID.x] = value * value;
}
