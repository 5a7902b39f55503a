"""All shaders."""

from __future__ import annotations

from real_shaders import ggml_reductions

SHADERS = (*ggml_reductions.SHADERS,)
