"""What is true of fragment shaders alone: quads and pixels, helper invocations, derivatives, edges, samples.

A case is a `probe` (what every fragment does and must find) on a `scene` (what is drawn). Probes of one scene
share a shader and a draw. Subgroup operations as such, by type and data, are judged in fragment shaders by
the family `subgroup`.
"""

from __future__ import annotations

from vkgroup.conformance.fragment.family import FragmentCase, FragmentFamily

__all__ = ["FragmentCase", "FragmentFamily"]
