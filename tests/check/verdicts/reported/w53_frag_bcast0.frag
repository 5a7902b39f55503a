#version 460
// gpuweb/cts#4035 (2024-11): broadcast from lane 0 in a fragment shader although lane 0 may be inactive
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(location = 0) out uvec4 color;
void main(){
 uint v=uint(gl_FragCoord.x); uint r=0u;
 if((v&1u)==1u) r=subgroupBroadcast(gl_SubgroupSize*0u+v,0u);
 color=uvec4(r); }
