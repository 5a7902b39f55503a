#version 460
// The begin of pipelines whose other stages are looked at.
void main()
{
    gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
    gl_PointSize = 1.0;
}
