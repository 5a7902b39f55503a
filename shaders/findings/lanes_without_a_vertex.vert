#version 460
// SwiftShader: the last subgroup of an instance is filled with lanes that have no vertex. Their stores
// have no effect, like those of helper invocations; but ballots include them, and reductions add their values.
// Five points on a device with subgroups of four:
// vkgroup run shaders/findings/nothing.frag --vertex shaders/findings/lanes_without_a_vertex.vert
//     --topology points --count 5 --size 1,1 --out 'result=uint32[2]'
// result: number of vertices (5), and the sum over the vertices of the active lanes in each one's ballot.
// 4 × 4 + 1 = 17 is correct; SwiftShader gives 4 × 4 + 4 = 20.
#extension GL_KHR_shader_subgroup_ballot : require
layout(binding = 0) buffer Result { uint result[2]; };

void main()
{
    gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
    gl_PointSize = 1.0;
    atomicAdd(result[0], 1u);
    atomicAdd(result[1], subgroupBallotBitCount(subgroupBallot(true)));
}
