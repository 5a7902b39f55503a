#version 450

// A list of pixels, with a row that is longer than the buffer assumes.
layout(location = 0) out uint color;
layout(set = 0, binding = 0) buffer Pixels { uint pixels[16]; };

void main()
{
    uint index = uint(gl_FragCoord.y) * 15u + uint(gl_FragCoord.x);
    pixels[index] = index; // expect: bounds
    color = index;
}
