"""Declarations that glslang 13 lacks for quads and derivatives, and an image of levels of detail."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.intrinsics import execution_mode, instruction

LEVELS = 4
"""Levels of detail that result from the slopes of texture coordinates."""

SIDE = 64
"""Texels of the image's first level in x and y."""

_QUAD_CONTROL = ("QuadControlKHR", "SPV_KHR_quad_control")


def image_levels() -> list[NDArray[np.float32]]:
    """Return the levels of an image; each texel is the number of its level."""
    return [np.full((SIDE >> level, SIDE >> level), level, np.float32) for level in range(LEVELS + 2)]


def votes() -> str:
    """Return the declarations of quadAll and quadAny."""
    return "\n".join(
        f"{instruction(f'OpGroupNonUniformQuad{kind}KHR', *_QUAD_CONTROL)} bool quad{kind}(bool predicate);"
        for kind in ("All", "Any")
    )


def maximal_reconvergence() -> str:
    """Return the mode that keeps helper invocations active for the life of their quad."""
    return execution_mode("MaximallyReconvergesKHR", extension="SPV_KHR_maximal_reconvergence")


def quad_modes() -> str:
    """Return the modes of full quads and of derivatives in them."""
    capability, extension = _QUAD_CONTROL
    return "\n".join(
        execution_mode(name, capability=capability, extension=extension)
        for name in ("QuadDerivativesKHR", "RequireFullQuadsKHR")
    )


def derivatives() -> str:
    """Return the declarations of derivatives and sampling, which GLSL only has in fragment shaders."""
    lines = [
        f"{instruction(f'Op{stem}{how}', 'DerivativeControl' if how else '')} {kind} {name}{how}({kind} v);"
        for how in ("", "Fine", "Coarse")
        for kind in ("float", "vec2", "vec3", "vec4")
        for stem, name in (("DPdx", "derivativeX"), ("DPdy", "derivativeY"), ("Fwidth", "derivativeWidth"))
    ]
    sampled = instruction("OpImageSampleImplicitLod")
    queried = instruction("OpImageQueryLod", "ImageQuery")
    lines.append(f"{sampled} vec4 implicitLod(sampler2D image, vec2 coordinate);")
    lines.append(f"{queried} vec2 queriedLod(sampler2D image, vec2 coordinate);")
    return "\n".join(lines)


def derivative_group(mode: str) -> str:
    """Return the mode that makes quads of 2 × 2 local ids (``"quads"``) or of four (``"linear"``)."""
    return execution_mode(
        f"DerivativeGroup{mode.title()}KHR",
        capability=f"ComputeDerivativeGroup{mode.title()}KHR",
        extension="SPV_KHR_compute_shader_derivatives",
    )
