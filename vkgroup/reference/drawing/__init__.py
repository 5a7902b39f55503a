"""Drawing without a GPU: vertices, primitives, coverage, fragments and attachments, in NumPy.

`draw` does it all: `vertices` runs the vertex stage, `assembly` and `shapes` make primitives, `coverage`
finds the quads that they cover, `fragments` puts these into subgroups, `fragment_stage` runs the shader (with
what `interpolation` gives it), and `outputs` and `attachments` take what comes out.
"""

from __future__ import annotations

from vkgroup.reference.drawing.attachments import ColorTarget, DepthTarget, resolved
from vkgroup.reference.drawing.draw import Draw, Drawn, draw
from vkgroup.reference.drawing.vertices import VertexData

__all__ = ["ColorTarget", "DepthTarget", "Draw", "Drawn", "VertexData", "draw", "resolved"]
