#version 460
// An array of buffers, indexed by a number that the whole dispatch shares and by one that each workgroup has.
// tables: four buffers of different lengths. results: sum of the workgroup's table's values with every invocation's own
// index modulo its length, times the first value of the shared table. lengths: of each workgroup's table.

layout(local_size_x = 32) in;
layout(push_constant) uniform Push { uint shared_table; };
layout(std430, binding = 0) readonly buffer Tables { int values[]; } tables[4];
layout(std430, binding = 4) writeonly buffer Results { int results[]; };
layout(std430, binding = 5) writeonly buffer Lengths { uint lengths[]; };

void main() {
    uint which = gl_WorkGroupID.x % 4u, length;
    // Each one has a constant index, so that no device needs more than dynamically uniform ones.
    switch (which) {
    case 0u: length = uint(tables[0].values.length()); break;
    case 1u: length = uint(tables[1].values.length()); break;
    case 2u: length = uint(tables[2].values.length()); break;
    default: length = uint(tables[3].values.length());
    }
    int sum = 0;
    for (uint k = 0u; k < length; k++) sum += tables[which].values[k] * int((gl_LocalInvocationIndex + k) % length);
    results[gl_GlobalInvocationID.x] = sum * tables[shared_table].values[0];
    if (gl_LocalInvocationIndex == 0u) lengths[gl_WorkGroupID.x] = length;
}
