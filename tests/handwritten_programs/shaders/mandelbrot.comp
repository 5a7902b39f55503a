#version 460
// The Mandelbrot set in fixed point (12 fractional bits), with a loop that every invocation leaves in its own time.
// steps: for each pixel of the grid, the steps until |z| > 2, or the limit.

layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Push {
    ivec2 corner;
    int spacing;
    uint limit;
};
layout(std430, binding = 0) writeonly buffer Steps { uint steps[]; };

const int BITS = 12;

void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    ivec2 c = corner + spacing * ivec2(at), z = ivec2(0);
    uint step = 0u;
    while (step < limit) {
        ivec2 squares = z * z >> BITS;
        if (squares.x + squares.y > 4 << BITS) break;
        z = ivec2(squares.x - squares.y, 2 * z.x * z.y >> BITS) + c;
        step++;
    }
    steps[at.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x + at.x] = step;
}
