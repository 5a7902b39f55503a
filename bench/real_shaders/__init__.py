"""Shaders of ggml and ncnn with the parameters that their hosts give them, expected results, and planted errors."""
