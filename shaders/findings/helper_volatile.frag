#version 450
// Reads gl_HelperInvocation. In SPIR-V 1.6 the built-in is volatile, which lavapipe 22.3 does not compile.
// color: 0.5 everywhere; helper invocations write nothing.

layout(location = 0) out vec4 color;

void main() {
    color = vec4(gl_HelperInvocation ? 1.0 : 0.5);
}
