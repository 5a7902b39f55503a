// Processing of rows: a team computes the state of each row, and then writes every element changed by this
// state.
//
// A row that the team can hold is read once; of a longer one each chunk is read again for writing. Before
// this file: row.glsl, and State, identity(), absorb(), which adds a chunk to a state, and changed().

void main() {
    for (uint start = gl_WorkGroupID.x * teams(); start < rows; start += gl_NumWorkGroups.x * teams()) {
        // Teams without a row repeat the last row and write nothing, since all must take part in exchanges
        // and barriers.
        bool is_row = start + team() < rows;
        uint row = min(start + team(), rows - 1u);
        vec4 x[ITEMS];
        State s = identity();
        for (uint chunk = 0u; chunk < length; chunk += chunk_size()) {
            load_chunk(x, row, chunk, length);
            absorb(s, x, chunk);
        }
        s = team_combine(s);
        for (uint chunk = 0u; chunk < length; chunk += chunk_size()) {
            if (length > chunk_size())
                load_chunk(x, row, chunk, length);
            if (is_row)
                [[unroll]] for (uint k = 0u; k < ITEMS; ++k)
                    store_item(changed(x[k], s, positions_of(chunk, k)), row, chunk, k, length);
        }
        team_barrier();
    }
}
