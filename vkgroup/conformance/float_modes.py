"""The execution modes under which special floating-point values are judged, declared in GLSL."""

from __future__ import annotations

from vkgroup.conformance.case import Case
from vkgroup.conformance.intrinsics import EXTENSION

# Execution modes (SPIR-V, Execution Mode): capability and mode of each promise that special data needs.
_FLOAT_CONTROLS = {"SignedZeroInfNanPreserve": (4466, 4461), "DenormPreserve": (4464, 4459)}


def execution_modes(cases: list[Case], denormals: frozenset[int]) -> list[str]:
    """Return the declarations that forbid the device to treat special values as it likes."""
    widths = {case.preserved_width for case in cases} - {0}
    modes = []
    for width in sorted(widths):
        for name, (capability, mode) in _FLOAT_CONTROLS.items():
            if name == "SignedZeroInfNanPreserve" or width in denormals:
                modes.append(
                    'spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], '
                    f"capabilities = [{capability}], {mode}, {width});"
                )
    return [f"#extension {EXTENSION} : require", *modes] if modes else []
