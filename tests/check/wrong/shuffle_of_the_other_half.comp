// Complex multiplication, one lane holding the real and its neighbour the imaginary part.
// values: (re, im) pairs, interleaved; squares: the same of each number squared.
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Values { float values[]; };
layout(set = 0, binding = 1) writeonly buffer Squares { float squares[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float mine = values[i];
    if ((i & 1u) == 0u) {
        float imaginary = subgroupShuffle(mine, gl_SubgroupInvocationID ^ 1u); // expect: undefined
        squares[i] = mine * mine - imaginary * imaginary;
    } else {
        float real = subgroupShuffle(mine, gl_SubgroupInvocationID ^ 1u); // expect: undefined
        squares[i] = 2.0 * real * mine;
    }
}
