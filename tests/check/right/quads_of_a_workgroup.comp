// Sum of all second differences within quads, whose lanes are whichever they are: the sum of a quad's
// values is spread by swaps, and every quad counts itself once.
#version 460
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Values { uint values[]; };
layout(binding = 1) buffer Total { uint total; };
void main() {
    uint v = values[gl_GlobalInvocationID.x];
    uint sum = v + subgroupQuadSwapHorizontal(v);
    sum += subgroupQuadSwapVertical(sum);
    uint again = subgroupQuadBroadcast(sum, 3u);
    if ((gl_SubgroupInvocationID & 3u) == 0u)
        atomicAdd(total, sum + again - sum);
}
