#version 450
// Demotes every second fragment; the adjacent fragment reads whether it is now a helper invocation.
// color: values read by the adjacent fragment: gl_HelperInvocation, helperInvocationEXT(). (1, 1) next to demoted fragments.
#extension GL_EXT_demote_to_helper_invocation : require
#extension GL_KHR_shader_subgroup_quad : require

layout(location = 0) out uvec2 color;

void main() {
    if ((int(gl_FragCoord.x) & 1) == 1) {
        demote;
    }
    uint built_in = gl_HelperInvocation ? 1u : 0u;
    uint asked = helperInvocationEXT() ? 1u : 0u;
    color = uvec2(subgroupQuadSwapHorizontal(built_in), subgroupQuadSwapHorizontal(asked));
}
