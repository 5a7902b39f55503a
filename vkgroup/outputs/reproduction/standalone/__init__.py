"""One C file that repeats a case with Vulkan alone: ``repro.c`` of a reproduction folder."""

from __future__ import annotations
