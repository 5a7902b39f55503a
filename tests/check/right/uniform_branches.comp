// Either all lanes of a subgroup take the quick way, or each takes its own. Both give the same.
#version 460
#extension GL_KHR_shader_subgroup_vote : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer Values { int values[]; };
int slow(int v) {
    int result = 0;
    while (v > 0) {
        result += v & 1;
        v >>= 1;
    }
    return result;
}
void main() {
    uint i = gl_GlobalInvocationID.x;
    int v = values[i];
    if (subgroupAll(v < 2))
        values[i] = v;
    else
        values[i] = slow(v);
}
