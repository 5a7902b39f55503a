"""Cases of fragment shaders alone: quads and pixels, helper invocations, derivatives, edges, samples.

A case is a `probe` (what every fragment does, and what it must get) on a `scene` (what is drawn). Probes of
one scene share a shader and a draw. The family `subgroup` judges subgroup operations by type and data in
fragment shaders.
"""
