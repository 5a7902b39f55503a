"""Drawing without a GPU: vertices, primitives, coverage, fragments and attachments, in NumPy.

`draw` runs all steps. `vertices` runs the vertex stage. `assembly` and `shapes` make primitives. `coverage`
finds the quads that they cover. `fragments` arranges these in subgroups. `interpolation` computes their
inputs, and `fragment_stage` runs the shader. `outputs` and `attachments` write the results.
"""

from __future__ import annotations

from vkgroup.reference.drawing.attachments import ColorTarget, DepthTarget, resolved
from vkgroup.reference.drawing.draw import Draw, Drawn, draw
from vkgroup.reference.drawing.vertices import VertexData

__all__ = ["ColorTarget", "DepthTarget", "Draw", "Drawn", "VertexData", "draw", "resolved"]
