#version 460
// Softmax of each row: a workgroup a row, the maximum taken out first.
// rows: length floats a row. results: exp(x - max) / sum of those.
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint length; };
layout(std430, binding = 0) readonly buffer Rows { float rows[]; };
layout(std430, binding = 1) writeonly buffer Results { float results[]; };

shared float partial[gl_WorkGroupSize.x];

float workgroup_max(float value) {
    value = subgroupMax(value);
    if (subgroupElect()) partial[gl_SubgroupID] = value;
    barrier();
    value = partial[0];
    for (uint k = 1u; k < gl_NumSubgroups; k++) value = max(value, partial[k]);
    barrier();
    return value;
}

float workgroup_sum(float value) {
    value = subgroupAdd(value);
    if (subgroupElect()) partial[gl_SubgroupID] = value;
    barrier();
    value = 0.0;
    for (uint k = 0u; k < gl_NumSubgroups; k++) value += partial[k];
    barrier();
    return value;
}

void main() {
    uint start = gl_WorkGroupID.x * length;
    float greatest = rows[start], sum = 0.0;
    uint me = gl_LocalInvocationIndex, step = gl_WorkGroupSize.x;
    for (uint k = me; k < length; k += step) greatest = max(greatest, rows[start + k]);
    greatest = workgroup_max(greatest);
    for (uint k = me; k < length; k += step) sum += exp(rows[start + k] - greatest);
    sum = workgroup_sum(sum);
    for (uint k = me; k < length; k += step) {
        results[start + k] = exp(rows[start + k] - greatest) / sum;
    }
}
