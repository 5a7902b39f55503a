"""Shaders of ggml and ncnn with their hosts' parameters, expected results, and planted errors."""
