#version 460
// GPUOpen-Drivers/llpc#1400 (2021-09): subgroupBroadcast by a non-uniform id (was accepted by the driver's waterfall loop)
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
void main(){ uint g=gl_GlobalInvocationID.x;
 b[g]=subgroupBroadcast(a[g],gl_SubgroupInvocationID^1u); }
