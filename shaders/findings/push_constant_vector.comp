#version 460
// Each invocation reads a component of a vector, and a column of a matrix, in push constants; the index differs between them.
layout(local_size_x = 64) in;
layout(push_constant) uniform Constants { vec4 vector; mat4 matrix; };
layout(std430, binding = 0) writeonly buffer Result { vec2 result[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    result[i] = vec2(vector[i % 4u], matrix[i % 4u].x);
}
