"""Check of fragment shaders: quads, helper invocations, derivatives, subgroup sizes."""

from __future__ import annotations

from vkgroup.check.fragments.checking import check_fragments

__all__ = ["check_fragments"]
