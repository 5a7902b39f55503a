// Means over squares: the common part of both versions of the box filter.
//
// result(x, y) is the sum of the (2 RADIUS + 1)² pixels around (x, y), times `scale`; pixels outside the
// image have the value of the nearest edge pixel.
//
// A packet is a vec4: one pixel of four components (PIXELS 1), or four adjacent pixels of one (PIXELS 4). An
// invocation has a column of packets and adds its pixels vertically, without other invocations. Then the sums
// of adjacent columns are added horizontally; the versions do this in different ways (`window`). A team is a
// group of `lanes` invocations that exchange sums; the HALO invocations at both ends only provide sums for
// the others.
//
// Vertically, ROWS adjacent windows share all rows except ROWS - 1 at both ends. Let n = 2 RADIUS + 1, and
// rows be numbered from the first one of the first window:
//
//     window i  =  (i … ROWS - 2)  +  (ROWS - 1 … n - 1)  +  (n … n + i - 1)
//
// The first part is a suffix sum of rows that were kept in registers. The second part is the same for all
// windows. The third part grows by one row per window. So every row is loaded once, and a window needs two or
// three additions in addition to the common ones. Nothing is subtracted, since sums that grow and shrink
// would accumulate rounding errors.
//
// VECTOR: 1 if PIXELS is 4 and the width a multiple of four.

#extension GL_EXT_control_flow_attributes : require

#ifndef PIXELS
#define PIXELS 4
#endif
#ifndef VECTOR
#define VECTOR 0
#endif

#if PIXELS == 4
#define TOTAL float // of the pixels of a packet
#define total(packet) (packet.x + packet.y + packet.z + packet.w)
#else
#define TOTAL vec4
#define total(packet) packet
#endif

layout(constant_id = 10) const int RADIUS = 2;
// ROWS: windows of an invocation that are summed together, at most 2 RADIUS + 2. BLOCKS: number of such
// groups.
layout(constant_id = 11) const int ROWS = 4;
layout(constant_id = 12) const int BLOCKS = 1;

#if PIXELS == 1 || VECTOR
layout(std430, binding = 0) readonly buffer Image { vec4 image[]; };
layout(std430, binding = 1) writeonly buffer Filtered { vec4 filtered[]; };
#else
layout(std430, binding = 0) readonly buffer Image { float image[]; };
layout(std430, binding = 1) writeonly buffer Filtered { float filtered[]; };
#endif
layout(push_constant) uniform Push {
    int width, height;
    float scale; // 1 / (2 RADIUS + 1)²
};

// Packets on each side in which a window may end.
const int HALO = (RADIUS + PIXELS - 1) / PIXELS;
// The windows of all pixels of a packet contain all MIDDLE packets from distance FIRST on. Of the packets at
// the distances -HALO … FIRST - 1 and AFTER … HALO they contain a part or nothing. With fewer than three
// neighbors there is no middle.
#if PIXELS == 4
const bool NARROW = RADIUS < 3;
const int FIRST = NARROW ? 1 : -((RADIUS - 3) / 4);
const int AFTER = NARROW ? 1 : (RADIUS - 3) / 4 + 1;
const uint MIDDLE = NARROW ? 0u : uint(AFTER - FIRST);
#else
const int FIRST = -RADIUS;
const int AFTER = RADIUS + 1;
const uint MIDDLE = uint(AFTER - FIRST);
#endif

// Packets in a row.
int packets() { return (width + PIXELS - 1) / PIXELS; }

// Loads a packet; pixels outside the image have the value of the edge pixel.
vec4 load(int row, int at) {
    row = clamp(row, 0, height - 1);
#if PIXELS == 1
    return image[row * width + clamp(at, 0, width - 1)];
#elif VECTOR
    int last = packets() - 1;
    vec4 texels = image[row * (last + 1) + clamp(at, 0, last)];
    return at < 0 ? vec4(texels.x) : at > last ? vec4(texels.w) : texels;
#else
    vec4 texels;
    [[unroll]] for (int i = 0; i < 4; ++i)
        texels[i] = image[row * width + clamp(at * 4 + i, 0, width - 1)];
    return texels;
#endif
}

void store(int row, int at, vec4 sum) {
#if PIXELS == 1 || VECTOR
    filtered[row * packets() + at] = sum * scale;
#else
    [[unroll]] for (int i = 0; i < 4; ++i)
        if (at * 4 + i < width)
            filtered[row * width + at * 4 + i] = sum[i] * scale;
#endif
}

// Adds to four windows their parts of a packet at this distance.
void add_part(inout vec4 sums, vec4 packet, int distance) {
#if PIXELS == 4
    [[unroll]] for (int i = 0; i < 4; ++i)
        [[unroll]] for (int j = 0; j < 4; ++j)
            if (abs(4 * distance + j - i) <= RADIUS)
                sums[i] += packet[j];
#else
    sums += packet;
#endif
}

// Adds columns horizontally: the windows around this invocation's column. Called by all invocations of a team
// together.
vec4 window(vec4 column);

// The same for a team that is too small for the radius: each invocation adds all pixels itself.
vec4 window_alone(int row, int at) {
    vec4 sums = vec4(0.0);
    for (int y = row - RADIUS; y <= row + RADIUS; ++y)
        for (int distance = -HALO; distance <= HALO; ++distance)
            add_part(sums, load(y, at + distance), distance);
    return sums;
}

// ROWS rows of the result from `top` on, of a column of packets. `serves`: whether the invocation stores its
// windows.
void filter_block(int top, int at, bool serves, bool alone) {
    vec4 kept[ROWS];
    vec4 core = vec4(0.0), below = vec4(0.0);
    if (!alone) {
        [[unroll]] for (int i = 0; i < ROWS - 1; ++i)
            kept[i] = load(top - RADIUS + i, at);
        kept[ROWS - 1] = vec4(0.0);
        for (int i = ROWS - 1; i <= 2 * RADIUS; ++i)
            core += load(top - RADIUS + i, at);
        [[unroll]] for (int i = ROWS - 2; i >= 0; --i)
            kept[i] += kept[i + 1];
    }
    [[unroll]] for (int i = 0; i < ROWS; ++i) {
        if (top + i >= height)
            break;
        vec4 sums;
        if (alone) {
            sums = window_alone(top + i, at);
        } else {
            if (i > 0)
                below += load(top + RADIUS + i, at);
            sums = window(kept[i] + core + below);
        }
        if (serves && at < packets())
            store(top + i, at, sums);
    }
}

// Filters all tiles of one of `teams` teams. A tile is as wide as a team without its two halos.
void filter_tiles(uint team, uint teams, int lanes, int lane) {
    bool alone = 2 * HALO >= lanes;
    int halo = alone ? 0 : HALO, columns = lanes - 2 * halo, rows = ROWS * BLOCKS;
    int across = (packets() + columns - 1) / columns, down = (height + rows - 1) / rows;
    bool serves = lane >= halo && lane < lanes - halo;
    for (int tile = int(team); tile < across * down; tile += int(teams))
        for (int block = 0; block < BLOCKS; ++block) {
            int top = tile / across * rows + block * ROWS;
            if (top < height)
                filter_block(top, tile % across * columns + lane - halo, serves, alone);
        }
}
