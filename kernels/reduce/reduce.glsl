// Reduction of rows: the common part of subgroup.comp and shared.comp, except the combination of a team's
// states.
//
// Each row is reduced in `parts` parts, each by a team. The grid may have any size: teams loop until all
// parts of all rows are done.

#extension GL_KHR_memory_scope_semantics : require

layout(push_constant) uniform Push {
    uint length;    // elements of a row
    uint rows;
#if FINISH != DIRECT
    uint parts;     // of each row
#endif
};

#if FINISH == DIRECT
const uint parts = 1u;
#endif

#if FINISH == TICKET
// The parts of each row that are written; zero before the dispatch.
layout(std430, binding = 4) restrict buffer Tickets { uint tickets[]; };

shared bool comes_last;

// Count a part of a row as written, and if it was the last, reduce the parts: TEAM is 0.
//
// The release and acquire of the atomic order all earlier writes of parts, by any workgroup, before the reads
// that follow it. No workgroup waits, so the result does not depend on the progress of other workgroups.
void finish_row(uint row) {
    if (gl_LocalInvocationIndex == 0u) {
        uint written = atomicAdd(tickets[row], 1u, gl_ScopeDevice, gl_StorageSemanticsBuffer,
                                 gl_SemanticsAcquireRelease);
        comes_last = written == parts - 1u;
    }
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeDevice, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease);
    if (comes_last) {
        State s = team_combine(fold_partials(row * parts, 1u, parts));
        if (gl_LocalInvocationIndex == 0u)
            write_result(row, s);
    }
}
#endif

void main() {
    uint jobs = rows * parts;
    for (uint start = gl_WorkGroupID.x * teams(); start < jobs; start += gl_NumWorkGroups.x * teams()) {
        uint job = start + team();
        uint row = job / parts, part = job % parts;
        State s = identity();
        if (job < jobs)
            s = fold(row * length, row * length + length, part, parts);
        s = team_combine(s);
        if (team_lane() == 0u && job < jobs) {
#if FINISH == DIRECT
            write_result(row, s);
#else
            write_partial(job, s);
#endif
        }
#if FINISH == TICKET
        finish_row(row);
#endif
        team_barrier();
    }
}
