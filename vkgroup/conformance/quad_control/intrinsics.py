"""SPV_KHR_quad_control and its kin, written with GL_EXT_spirv_intrinsics: glslang 13 lacks them."""

from __future__ import annotations

EXTENSION = "GL_EXT_spirv_intrinsics"

_QUADS = 'extensions = ["SPV_KHR_quad_control"], capabilities = [5087]'  # QuadControlKHR

VOTES = f"""spirv_instruction({_QUADS}, id = 5110) bool quadAll(bool predicate);
spirv_instruction({_QUADS}, id = 5111) bool quadAny(bool predicate);"""
"""OpGroupNonUniformQuadAllKHR and OpGroupNonUniformQuadAnyKHR."""

MAXIMAL_RECONVERGENCE = 'spirv_execution_mode(extensions = ["SPV_KHR_maximal_reconvergence"], 6023);'
"""MaximallyReconvergesKHR: with it helper invocations stay active for as long as their quad lives."""

QUAD_MODES = f"spirv_execution_mode({_QUADS}, 5088);\nspirv_execution_mode({_QUADS}, 5089);"
"""QuadDerivativesKHR and RequireFullQuadsKHR."""

DERIVATIVES = "\n".join(
    f"spirv_instruction({'capabilities = [51], ' if how else ''}id = {207 + 3 * number + place})"
    f" float {name}{how}(float value);"
    for number, how in enumerate(("", "Fine", "Coarse"))
    for place, name in enumerate(("derivativeX", "derivativeY", "derivativeWidth"))
)
"""OpDPdx to OpFwidthCoarse, which GLSL has in fragment shaders alone; 51: DerivativeControl."""

SAMPLING = """spirv_instruction(id = 87) vec4 implicitLod(sampler2D image, vec2 coordinate);
spirv_instruction(capabilities = [50], id = 105) vec2 queriedLod(sampler2D image, vec2 coordinate);"""
"""OpImageSampleImplicitLod and OpImageQueryLod, likewise; 50: ImageQuery."""


def derivative_group(mode: str) -> str:
    """Return the declaration that makes quads of 2 × 2 local ids (``"quads"``) or of four (``"linear"``)."""
    capability, number = {"quads": (5288, 5289), "linear": (5350, 5290)}[mode]
    return (
        'spirv_execution_mode(extensions = ["SPV_KHR_compute_shader_derivatives"],'
        f" capabilities = [{capability}], {number});"
    )
