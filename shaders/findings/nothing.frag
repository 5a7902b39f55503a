#version 460
// Empty fragment shader for pipelines that test other stages.
void main() {}
