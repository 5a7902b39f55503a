// The second dispatch of a reduction in parts: a team reads the states of a row's parts and writes the result.

layout(push_constant) uniform Push {
    uint rows;
    uint parts;    // of each row
};

void main() {
    for (uint start = gl_WorkGroupID.x * teams(); start < rows; start += gl_NumWorkGroups.x * teams()) {
        uint row = start + team();
        State s = identity();
        if (row < rows)
            s = fold_partials(row, parts);
        s = team_combine(s);
        if (team_lane() == 0u && row < rows)
            write_result(row, s);
        team_barrier();
    }
}
