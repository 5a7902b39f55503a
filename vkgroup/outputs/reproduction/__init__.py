"""Reproduction folders: one case or finding with all files that are needed to repeat it."""

from __future__ import annotations
