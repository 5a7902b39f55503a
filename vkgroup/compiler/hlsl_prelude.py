"""Overloads of `WaveActiveAllEqual` for glslang 13, inserted before HLSL sources."""

from __future__ import annotations


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
