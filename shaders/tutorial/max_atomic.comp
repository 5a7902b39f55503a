#version 460
// Maximum of all values, with one atomic operation per subgroup.
// foo: one uint per invocation. bar: at least their maximum afterwards; 0 before.
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 128, local_size_y = 1, local_size_z = 1) in;
layout(std430, set = 0, binding = 0) readonly buffer layout_foo { uint foo[]; };
layout(std430, set = 0, binding = 1) buffer layout_bar { uint bar; };

void main() {
    uint value = subgroupMax(foo[gl_GlobalInvocationID.x]);

    // A single invocation in the subgroup will do the atomic operation
    if (subgroupElect()) {
        atomicMax(bar, value);
    }
}
