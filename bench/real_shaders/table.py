"""All shaders."""

from __future__ import annotations

from real_shaders import ggml_matrices, ggml_recurrent, ggml_reductions, ggml_scans

SHADERS = (*ggml_reductions.SHADERS, *ggml_scans.SHADERS, *ggml_recurrent.SHADERS, *ggml_matrices.SHADERS)
