// Scan along an axis that is not the last: the common part of both versions.
//
// The array is treated as (slices, length, inner); its middle axis is scanned. Its slices * inner columns are
// numbered slice by slice. A workgroup has COLUMNS adjacent columns, and goes down their rows in tiles. In a
// tile, each invocation has a run: ITEMS consecutive rows of one column. It combines its run, the workgroup
// scans the runs of each column, and the combination of all previous tiles (`carry`) is kept in registers.
// Rows are numbered in the order of the scan: with REVERSE row 0 is the last one in memory.
//
// If there are too few columns for the device, they are divided into chunks of rows, in two dispatches. The
// first one (SUMS) writes the combination of each chunk to `partials`. The second one (CHUNKS) first combines
// the partials of all previous chunks of its columns.
//
// Bindings: 0 the elements; 1 the results (see operation.glsl); 2 partials, of shape (chunks, slices * inner).
//
// Macros:
//   REVERSE    1: the scan runs from the last element to the first
//   EXCLUSIVE  1: each result leaves its own element out
//   STEP       WHOLE: columns are not divided; SUMS, CHUNKS: see above
//   STAGED     1: rows are short, and go through shared memory, so that neighbouring invocations read and
//              write neighbouring elements. COLUMNS is a multiple of `inner`
#ifndef COLUMNS_GLSL
#define COLUMNS_GLSL

#ifndef REVERSE
#define REVERSE 0
#endif
#ifndef EXCLUSIVE
#define EXCLUSIVE 0
#endif
#define WHOLE 0
#define SUMS 1
#define CHUNKS 2
#ifndef STEP
#define STEP WHOLE
#endif
#ifndef STAGED
#define STAGED 0
#endif

layout(constant_id = 10) const uint COLUMNS = 32u;  // of a workgroup; at most WORKGROUP
layout(constant_id = 11) const uint RUNS = 4u;      // of a column in a tile; at most WORKGROUP / COLUMNS

const uint TILE_ROWS = RUNS * ITEMS;

#if STEP == SUMS
layout(std430, binding = 2) writeonly buffer Partials { T partials[]; };
#elif STEP == CHUNKS
layout(std430, binding = 2) readonly buffer Partials { T partials[]; };
#endif

layout(push_constant) uniform Parameters {
    uint count;         // slices * length * inner
    uint length;
    uint inner;
    uint chunk_rows;    // a multiple of TILE_ROWS, or `length`
};

uint columns() {
    return count / length;
}

// Defined by the version: number of this invocation.
uint invocation();

// Defined by the version: return the combination of `carry` and all previous runs of this invocation's column,
// and combine `carry` with all runs of the column. Contains a barrier. Invocation t has run t / COLUMNS of
// column t % COLUMNS; the last ones, which have no run, give IDENTITY.
T scan_in_workgroup(T own, inout T carry);

// The same; a single run needs no communication.
T scan_runs(T own, inout T carry) {
    if (RUNS != 1u)
        return scan_in_workgroup(own, carry);
    T before = carry;
    carry = COMBINE(carry, own);
    return before;
}

// The run of this invocation.
struct Run {
    uint number;    // in its tile
    uint column;    // in the whole array
    uint first;     // memory index of the first element of the column
    bool exists;
};

Run run_of(uint first_column) {
    Run run;
    run.number = invocation() / COLUMNS;
    run.column = first_column + invocation() % COLUMNS;
    run.first = run.column / inner * length * inner + run.column % inner;
    run.exists = run.number < RUNS && run.column < columns();
    return run;
}

uint index_of(Run run, uint row) {
    return run.first + (REVERSE != 0 ? length - 1u - row : row) * inner;
}

// Read `ITEMS` rows of a column, `step` rows apart. Rows from `end` on are the identity.
void read_rows(Run run, uint row, uint step, uint end, out T x[ITEMS]) {
    [[unroll]] for (uint i = 0u; i < ITEMS; ++i) {
        x[i] = IDENTITY;
        if (run.exists && row + i * step < end)
            x[i] = read_element(index_of(run, row + i * step));
    }
}

#if STEP != SUMS
#if STAGED
// The elements of a tile in the order of memory, slice by slice, so that each slice's rows are contiguous.
// One word of padding after every 32 words lets invocations that read ITEMS rows each use different banks.
#define PADDED(slot) ((slot) + (slot) / 32u)
const uint STAGE = WORKGROUP * ITEMS;
shared T stage[STAGE + STAGE / 32u];

// Memory index of element `slot` of the stage, for the tile with rows `row` to `end` - 1; `inside`: whether
// the array has it.
uint staged_index(uint first_column, uint row, uint end, uint slot, out bool inside) {
    uint span = TILE_ROWS * inner, side = COLUMNS / inner;
    uint slice = side == 1u ? 0u : slot / span, at = slot - slice * span;
    uint first_row = REVERSE != 0 ? length - end : row;
    inside = slice < side && first_column + slice * inner < columns() && at < (end - row) * inner;
    return (first_column / inner + slice) * length * inner + first_row * inner + at;
}

// Slot of row `i` of this invocation's run.
uint run_slot(Run run, uint row, uint end, uint i) {
    uint column = invocation() % COLUMNS, at = run.number * ITEMS + i;
    return (column / inner * TILE_ROWS + (REVERSE != 0 ? end - row - 1u - at : at)) * inner + column % inner;
}

bool has_row(Run run, uint row, uint end, uint i) {
    return run.exists && row + run.number * ITEMS + i < end;
}

// Before and after these two functions, an invocation has the same slots; so both need one barrier only.
void read_tile(Run run, uint first_column, uint row, uint end, out T x[ITEMS]) {
    [[unroll]] for (uint i = 0u; i < ITEMS; ++i) {
        uint slot = i * WORKGROUP + invocation();
        bool inside;
        uint index = staged_index(first_column, row, end, slot, inside);
        if (inside)
            stage[PADDED(slot)] = read_element(index);
    }
    barrier();
    [[unroll]] for (uint i = 0u; i < ITEMS; ++i) {
        x[i] = IDENTITY;
        if (has_row(run, row, end, i))
            x[i] = stage[PADDED(run_slot(run, row, end, i))];
    }
}

void write_tile(Run run, uint first_column, uint row, uint end, T x[ITEMS]) {
    [[unroll]] for (uint i = 0u; i < ITEMS; ++i)
        if (has_row(run, row, end, i))
            stage[PADDED(run_slot(run, row, end, i))] = x[i];
    barrier();
    [[unroll]] for (uint i = 0u; i < ITEMS; ++i) {
        uint slot = i * WORKGROUP + invocation();
        bool inside;
        uint index = staged_index(first_column, row, end, slot, inside);
        if (inside)
            write_element(index, stage[PADDED(slot)]);
    }
}
#else
void read_tile(Run run, uint first_column, uint row, uint end, out T x[ITEMS]) {
    read_rows(run, row + run.number * ITEMS, 1u, end, x);
}

void write_tile(Run run, uint first_column, uint row, uint end, T x[ITEMS]) {
    [[unroll]] for (uint i = 0u; i < ITEMS; ++i)
        if (run.exists && row + run.number * ITEMS + i < end)
            write_element(index_of(run, row + run.number * ITEMS + i), x[i]);
}
#endif

// The combination of all previous chunks of this invocation's column.
T carry_of(Run run, uint chunk) {
    T carry = IDENTITY;
#if STEP == CHUNKS
    T sum = IDENTITY;
    if (run.exists)
        for (uint earlier = run.number; earlier < chunk; earlier += RUNS)
            sum = COMBINE(sum, partials[earlier * columns() + run.column]);
    scan_runs(sum, carry);
#endif
    return carry;
}

// Scan the rows `begin` to `end` - 1 of each column.
void process_chunk(Run run, uint first_column, uint chunk, uint begin, uint end) {
    T carry = carry_of(run, chunk);
    for (uint row = begin; row < end; row += TILE_ROWS) {
        uint tile_end = min(row + TILE_ROWS, end);
        T x[ITEMS];
        read_tile(run, first_column, row, tile_end, x);
        T sum = x[0];
        [[unroll]] for (uint i = 1u; i < ITEMS; ++i)
            sum = COMBINE(sum, x[i]);
        T before = scan_runs(sum, carry);
        [[unroll]] for (uint i = 0u; i < ITEMS; ++i) {
            T next = COMBINE(before, x[i]);
            x[i] = EXCLUSIVE != 0 ? before : next;
            before = next;
        }
        write_tile(run, first_column, row, tile_end, x);
    }
}
#else
// Combine the rows `begin` to `end` - 1 of each column. An invocation has every RUNS-th row. It combines those
// of a tile before it adds them to the previous tiles, for fewer roundings in a row.
void process_chunk(Run run, uint first_column, uint chunk, uint begin, uint end) {
    T sum = IDENTITY;
    for (uint row = begin; row < end; row += TILE_ROWS) {
        T x[ITEMS];
        read_rows(run, row + run.number, RUNS, end, x);
        [[unroll]] for (uint i = 1u; i < ITEMS; ++i)
            x[0] = COMBINE(x[0], x[i]);
        sum = COMBINE(sum, x[0]);
    }
    T all = IDENTITY;
    scan_runs(sum, all);
    if (run.exists && run.number == 0u)
        partials[chunk * columns() + run.column] = all;
}
#endif

void main() {
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint across = (columns() + COLUMNS - 1u) / COLUMNS, chunk = group / across;
    if (chunk >= (length + chunk_rows - 1u) / chunk_rows)
        return;
    uint begin = chunk * chunk_rows, end = min(begin + chunk_rows, length);
    uint first_column = group % across * COLUMNS;
    Run run = run_of(first_column);
    // Without communication, there are no barriers that an invocation without a column has to reach.
    if (RUNS == 1u && STAGED == 0 && !run.exists)
        return;
    process_chunk(run, first_column, chunk, begin, end);
}

#endif
