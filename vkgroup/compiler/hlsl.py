"""HLSL's wave and quad intrinsics as Shader Model 6.0 defines them, where a compiler makes something else.

What is amiss in glslang 13, and where it is mended:

======================= ============================================== ===========================
`WaveActiveAllEqual`    of a vector gives one Boolean, not one for     here, by overloads before
                        each component                                 the source
`WavePrefixSum`,        are inclusive scans                            `hlsl_module`
`WavePrefixProduct`
`QuadReadLaneAt`        with an index that is no constant is no valid  `hlsl_module`
                        SPIR-V, or undefined where lanes differ
`WaveGetLaneCount`,     are not flat in pixel shaders, which is no     `hlsl_module`
`WaveGetLaneIndex`      valid SPIR-V
all of a wave           helper lanes take part                         `hlsl_helpers`
======================= ============================================== ===========================
"""

from __future__ import annotations

import re
from dataclasses import replace

from vkgroup.compiler.hlsl_helpers import exclude_helpers
from vkgroup.compiler.hlsl_module import drop_unused_capabilities, flatten_lanes, mend_scans_and_quads
from vkgroup.compiler.source import Request
from vkgroup.spirv import Module

_ALL_EQUAL = re.compile(r"\bWaveActiveAllEqual\b")


def _overloads() -> str:
    """Return `WaveActiveAllEqual` for what glslang has not right, on one line.

    A Boolean scalar has to be among them: else its call would be taken for that of a Boolean vector.
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
"""What stands before a source that uses `WaveActiveAllEqual`; lines keep their numbers."""


def prepared(request: Request) -> Request:
    """Return the request with the overloads that its source needs, or may need for what it includes."""
    if not request.has_includes and not _ALL_EQUAL.search(request.source):
        return request
    return replace(request, source=PRELUDE + request.source)


def mended(module: Module) -> Module:
    """Return what a compiler made of HLSL, with its wave and quad operations as HLSL defines them.

    Parameters
    ----------
    module : legalized, perhaps not valid where it broadcasts in a quad from an index that is no constant.
    """
    module = mend_scans_and_quads(module)
    if any(point.stage == "fragment" for point in module.reflection.entry_points):
        module = exclude_helpers(flatten_lanes(module))
    return drop_unused_capabilities(module)
