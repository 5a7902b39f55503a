"""GL dialect: GLSL for OpenGL compiled, linked by OpenGL's rules, and lowered to SPIR-V for Vulkan."""
