// A float16 vector that is undefined on one path. Every invocation that takes this path returns before the vector is
// used: RADV crashes. Compile it without the GPU:
// vkgroup cost shaders/findings/unused_float16_vector.comp --device radv:navi31,radv:vega10
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

layout(local_size_x = 1) in;

layout(binding = 0) buffer Data { uint data[]; };

f16vec3 chosen(f16vec3 v, uint n) {
    switch (0u) {
    case 0u:
        switch (n % 3u) {
        case 0u:
            return v;
        }
    }
    f16vec3 undefined;
    return undefined;
}

void main() {
    uint number = data[0], at = 0u;
    f16vec3 v = f16vec3(number, 1, 2);
    for (uint k = 0u; k < 1u; ++k) {
        if (gl_SubgroupInvocationID != 1u) {
            if ((gl_SubgroupInvocationID & 1u) == 0u) {
                v = chosen(v, number | 6u);
                if ((gl_SubgroupInvocationID & 3u) >= 0u)
                    return; // always
            }
            at += 2u;
        }
    }
    data[at] = packFloat2x16(v.xy);
}
