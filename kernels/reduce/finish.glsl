// The second dispatch of a reduction in parts: a team reads the states of a result's parts and writes the
// result.
//
// The states are (slices, parts, inner), as columns.comp writes them; of rows the inner size is 1.

layout(push_constant) uniform Push {
    uint rows;     // results: slices times inner
    uint parts;    // of each
    uint inner;
};

void main() {
    for (uint start = gl_WorkGroupID.x * teams(); start < rows; start += gl_NumWorkGroups.x * teams()) {
        uint row = start + team();
        State s = identity();
        if (row < rows)
            s = fold_partials(row / inner * parts * inner + row % inner, inner, parts);
        s = team_combine(s);
        if (team_lane() == 0u && row < rows)
            write_result(row, s);
        team_barrier();
    }
}
