#version 460
// The end of pipelines whose other stages are looked at.
void main() {}
