// Records in which order workgroups start, and whether a workgroup that waits sees that another one has started or
// ended. The number of loads is bounded, so the shader ends on every device.
//
// LATER 1: each waits for the start of the one after it; 0: for the end of the one before it, in the order of starts.
// STRIDE:  words between those of adjacent workgroups.
// TRIES:   loads in one wait.
//
// binding 0, starts:  the number of workgroups that have started.
// binding 1, words:   zero; (workgroups + 1, STRIDE): 1 once that workgroup has started, or has ended.
// binding 2, place:   for each workgroup its place in the order of starts.
// binding 3, seen:    by place, whether the workgroup saw what it waited for; 2 where there is nothing to wait for.
//
// Specialization constant 0: the number of invocations of the workgroup; the first of them does all.
#version 450
#extension GL_KHR_memory_scope_semantics : require

layout(local_size_x_id = 0) in;

layout(set = 0, binding = 0) buffer Starts { uint starts; };
layout(set = 0, binding = 1) buffer Words { uint words[]; };
layout(set = 0, binding = 2) writeonly buffer Place { uint place[]; };
layout(set = 0, binding = 3) writeonly buffer Seen { uint seen[]; };

void main() {
    if (gl_LocalInvocationIndex != 0u) {
        return;
    }
    uint own = atomicAdd(starts, 1u);
    place[gl_WorkGroupID.x] = own;
    bool is_alone = LATER == 1 ? own + 1u == gl_NumWorkGroups.x : own == 0u;
    uint other = LATER == 1 ? own + 1u : own - 1u;
    if (LATER == 1) {
        atomicStore(words[own * STRIDE], 1u, gl_ScopeDevice, 0, 0);
    }
    uint found = is_alone ? 2u : 0u;
    for (uint tries = 0u; tries < TRIES && found == 0u; tries++) {
        found = atomicLoad(words[other * STRIDE], gl_ScopeDevice, 0, 0);
    }
    if (LATER == 0) {
        atomicStore(words[own * STRIDE], 1u, gl_ScopeDevice, 0, 0);
    }
    seen[own] = found;
}
