"""Corrections to HLSL's wave and quad intrinsics, for defects of glslang 13 (Shader Model 6.0).

Each defect of glslang 13, and the module that corrects it:

======================= ============================================== ===========================
`WaveActiveAllEqual`    of a vector returns one Boolean instead of one here, by overloads before
                        for each component                             the source
`WavePrefixSum`,        are inclusive scans                            `hlsl_module`
`WavePrefixProduct`
`QuadReadLaneAt`        with an index that is not constant is invalid  `hlsl_module`
                        SPIR-V, or undefined if lanes differ
`WaveGetLaneCount`,     are not flat in pixel shaders: invalid          `hlsl_module`
`WaveGetLaneIndex`      SPIR-V
all wave operations     helper lanes take part                          `hlsl_helpers`
======================= ============================================== ===========================
"""

from __future__ import annotations

import re
from dataclasses import replace

from vkgroup.compiler.hlsl_helpers import exclude_helpers
from vkgroup.compiler.hlsl_module import drop_unused_capabilities, flatten_lanes, mend_scans_and_quads
from vkgroup.compiler.request import Request
from vkgroup.spirv import Module

_ALL_EQUAL = re.compile(r"\bWaveActiveAllEqual\b")


def _overloads() -> str:
    """Return overloads of `WaveActiveAllEqual` that correct glslang's, on one line.

    There is one for a Boolean scalar, because its calls would otherwise select that of a Boolean vector.
    """
    parts = ["bool WaveActiveAllEqual(bool v) { return WaveActiveAllEqual(v ? 1u : 0u); }"]
    for scalar in ("float", "int", "uint", "double", "bool"):
        for count in (2, 3, 4):
            components = ", ".join(f"WaveActiveAllEqual(v.{component})" for component in "xyzw"[:count])
            parts.append(
                f"bool{count} WaveActiveAllEqual({scalar}{count} v) {{ return bool{count}({components}); }}"
            )
    return " ".join(parts)


PRELUDE = _overloads() + "\n#line 1\n"
"""Text inserted before a source that uses `WaveActiveAllEqual`; line numbers do not change."""


def prepared(request: Request) -> Request:
    """Return the request with `PRELUDE` if its source uses `WaveActiveAllEqual` or includes files."""
    if not request.has_includes and not _ALL_EQUAL.search(request.source):
        return request
    return replace(request, source=PRELUDE + request.source)


def mended(module: Module) -> Module:
    """Return a module compiled from HLSL with its wave and quad operations as HLSL defines them.

    Parameters
    ----------
    module : a legalized module. It may be invalid only in quad broadcasts with an index that is not constant.
    """
    module = mend_scans_and_quads(module)
    if any(point.stage == "fragment" for point in module.reflection.entry_points):
        module = exclude_helpers(flatten_lanes(module))
    return drop_unused_capabilities(module)
