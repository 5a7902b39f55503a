#version 460
// Sparse matrix times vector, rows compressed: one subgroup a row.
// starts: rows + 1 places in the next two. columns, factors: of each entry. x: the vector. y: one int a row.
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Starts { uint starts[]; };
layout(std430, binding = 1) readonly buffer Columns { uint columns[]; };
layout(std430, binding = 2) readonly buffer Factors { int factors[]; };
layout(std430, binding = 3) readonly buffer X { int x[]; };
layout(std430, binding = 4) writeonly buffer Y { int y[]; };

void main() {
    uvec4 present = subgroupBallot(true);
    uint lane = subgroupBallotExclusiveBitCount(present), lanes = subgroupBallotBitCount(present);
    uint subgroups = gl_NumWorkGroups.x * gl_NumSubgroups, rows = uint(y.length());
    for (uint row = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID; row < rows; row += subgroups) {
        int sum = 0;
        for (uint k = starts[row] + lane; k < starts[row + 1u]; k += lanes) sum += factors[k] * x[columns[k]];
        sum = subgroupAdd(sum);
        if (subgroupElect()) y[row] = sum;
    }
}
