"""Drawing in NumPy: vertices, primitives, coverage, fragments and attachments.

`draw` runs all steps. `vertices` runs the vertex stage. `shapes` makes primitives. `coverage` finds the quads
that they cover. `fragments` arranges these in subgroups. `interpolation` computes their inputs.
`fragment_stage` runs the shader, and with `attachments` writes its results.
"""

from __future__ import annotations

from vkgroup.reference.drawing.attachments import ColorTarget, DepthTarget, resolved
from vkgroup.reference.drawing.draw import Draw, DrawResult, draw
from vkgroup.reference.drawing.vertices import VertexData

__all__ = ["ColorTarget", "DepthTarget", "Draw", "DrawResult", "VertexData", "draw", "resolved"]
