// Length of the segments of a polyline.
#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Points { vec2 points[]; };
layout(std430, binding = 1) writeonly buffer Lengths { float lengths[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    lengths[i] = distance(points[i], points[i + 1u]); // ask: bounds
}
