"""Cases of fragment shaders alone: quads and pixels, helper invocations, derivatives, edges, samples.

A case is a `probe` (a computation of every fragment, and its required result) on a `scene` (the drawn
triangles). Probes of one scene share a shader and a draw. The family `subgroup` tests subgroup operations by
type and data in fragment shaders.
"""
