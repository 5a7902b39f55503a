"""Conformance cases of the instructions of GLSL.std.450 that the kernels use."""
