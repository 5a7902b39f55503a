"""All shaders."""

from __future__ import annotations

from real_shaders import (
    ggml_convolutions,
    ggml_matrices,
    ggml_recurrent,
    ggml_reductions,
    ggml_scans,
    ncnn_layers,
)
from real_shaders.model import Shader

SHADERS: tuple[Shader, ...] = (
    *ggml_reductions.SHADERS,
    *ggml_scans.SHADERS,
    *ggml_recurrent.SHADERS,
    *ggml_matrices.SHADERS,
    *ggml_convolutions.SHADERS,
    *ncnn_layers.SHADERS,
)
