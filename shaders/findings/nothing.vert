#version 460
// Empty vertex shader for pipelines that test other stages.
void main()
{
    gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
    gl_PointSize = 1.0;
}
