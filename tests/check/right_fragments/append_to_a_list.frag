#version 450
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_basic : require

// Appends bright pixels to a list: the order of the list is open.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) buffer List { uint count; uint pixels[]; };

void main()
{
    color = vec4(uv, 0.0, 1.0);
    if (uv.x + uv.y > 0.8 && !gl_HelperInvocation) {
        uvec4 voters = subgroupBallot(true);
        uint base = 0u;
        if (subgroupElect()) {
            base = atomicAdd(count, subgroupBallotBitCount(voters));
        }
        uint slot = subgroupBroadcastFirst(base) + subgroupBallotExclusiveBitCount(voters);
        if (slot < pixels.length()) {
            pixels[slot] = uint(gl_FragCoord.y) * 1024u + uint(gl_FragCoord.x);
        }
    }
}
