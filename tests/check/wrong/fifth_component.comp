// Picks a component of a colour by a running number.
#version 460
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Colours { vec4 colours[]; };
layout(binding = 1) writeonly buffer Channel { float channel[]; };
void main() {
    vec4 colour = colours[gl_GlobalInvocationID.x];
    uint c = gl_LocalInvocationIndex % 5u;
    channel[gl_GlobalInvocationID.x] = colour[c]; // expect: bounds
}
