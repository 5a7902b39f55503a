#version 460
// Matrices as GLSL has them: products, transposes, determinants, outer products, column access, not square ones.
// turns: a mat3 an invocation (columns 16 bytes apart). shapes: a mat4x2, row-major (two rows of 16 bytes).
// results: what the members say.

layout(local_size_x = 32) in;
struct Result {
    mat3 square;
    mat2 gram;
    mat4 inner;
    vec3 turned;
    float volume;
};
layout(std430, binding = 0) readonly buffer Turns { mat3 turns[]; };
layout(std430, row_major, binding = 1) readonly buffer Shapes { mat4x2 shapes[]; };
layout(std430, binding = 2) writeonly buffer Results { Result results[]; };

void main() {
    uint me = gl_GlobalInvocationID.x;
    mat3 turn = turns[me];
    mat4x2 shape = shapes[me];
    Result result;
    result.square = turn * transpose(turn) - matrixCompMult(turn, mat3(2.0));
    result.gram = shape * transpose(shape) + outerProduct(shape[0], shape[3]);
    result.inner = transpose(shape) * shape;
    result.inner[me % 4u] += vec4(shape[me % 4u], 1.0, -1.0);
    result.turned = vec3(1.0, 2.0, -1.0) * turn + turn[me % 3u];
    result.volume = determinant(turn);
    results[me] = result;
}
