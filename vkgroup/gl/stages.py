"""Separate programs in one Vulkan pipeline, where all stages share one space of bindings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from vkgroup.spirv import Module

_OP_DECORATE, _BINDING = 71, 33

#: Beyond every binding that the compiler gives out.
_APART = 256


@lru_cache(maxsize=64)
def apart(module: Module) -> Module:
    """Return a module whose bindings differ from those of all other programs."""
    words, starts = module.words.copy(), module.instruction_starts
    decorations = starts[(words[starts] & 0xFFFF) == _OP_DECORATE]
    words[decorations[words[decorations + 2] == _BINDING] + 3] += _APART
    return Module.from_bytes(words.tobytes())


def moved(bindings: Mapping[tuple[int, int], Any]) -> dict[tuple[int, int], Any]:
    """Return bindings by the slots that they have in a module that was set `apart`."""
    return {(slot[0], slot[1] + _APART): value for slot, value in bindings.items()}
