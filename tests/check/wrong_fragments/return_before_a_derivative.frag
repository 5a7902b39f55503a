#version 450

// The derivatives of a position, after an early return.
layout(location = 0) in vec3 position;
layout(location = 0) out vec4 slopes;

void main()
{
    slopes = vec4(0.0);
    if (position.x + position.y < 0.7) {
        return;
    }
    vec3 along_x = dFdxFine(position); // expect: undefined
    vec3 along_y = dFdyFine(position); // expect: undefined
    slopes = vec4(along_x.xy, along_y.xy);
}
