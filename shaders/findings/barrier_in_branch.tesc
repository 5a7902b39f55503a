#version 460
// NVIDIA 580.159 on an H200: subgroupBarrier() in branches that only a part of a subgroup takes hangs the GPU, in
// tessellation control shaders and in task shaders. The device is lost, and those of other processes with it.
// vkgroup run shaders/findings/nothing.frag --vertex shaders/findings/nothing.vert --tessellation
//     shaders/findings/barrier_in_branch.tesc shaders/findings/nothing.tese --patch-vertices 1 --count 512
//     --size 1,1 --out 'result=uint32[1]'
// result: number of invocations that finished, of 2048.
#extension GL_KHR_shader_subgroup_basic : require
layout(vertices = 4) out;
layout(binding = 0) buffer Result { uint result; };

void main()
{
    // Levels of zero: nothing is tessellated.
    gl_TessLevelOuter = float[](0.0, 0.0, 0.0, 0.0);
    gl_TessLevelInner = float[](0.0, 0.0);
    uint lane = gl_SubgroupInvocationID;
    // Each branch is executed by some lanes, which wait only for each other: all active lanes reach the barrier.
    if (lane % 3u != 1u) {
        if ((lane & 1u) == 0u)
            subgroupBarrier();
        else
            subgroupBarrier();
    }
    atomicAdd(result, 1u);
}
