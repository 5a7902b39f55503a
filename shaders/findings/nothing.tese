#version 460
// Empty evaluation shader for control shaders that cull all patches.
layout(quads, point_mode) in;
void main()
{
    gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
    gl_PointSize = 1.0;
}
