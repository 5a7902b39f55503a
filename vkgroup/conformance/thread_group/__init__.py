"""Cases of NV_shader_thread_group: GL sources with its `#extension`, in three stages."""

from __future__ import annotations

from vkgroup.conformance.thread_group.family import ThreadGroupFamily

__all__ = ["ThreadGroupFamily"]
