"""Reproduction folders: one case or one finding with all its files, repeated from these anywhere."""

from __future__ import annotations
