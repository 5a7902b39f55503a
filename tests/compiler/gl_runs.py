"""Runs compute shaders of the GL dialect with what GL's binding points and names are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.compiler import GlInterface, interface_of, link
from vkgroup.dispatch import Device
from vkgroup.spirv import Module

Key = tuple[str, int] | str
"""A binding point (kind and number), or the name of a block, image or sampler."""


def program(*sources: str, **options: Any) -> tuple[Module, GlInterface]:
    """Link compute shaders; return module and record."""
    shaders = [(source, "compute", f"{number}.comp") for number, source in enumerate(sources)]
    module = link(shaders, **options)["compute"]
    interface = interface_of(module)
    assert interface is not None
    return module, interface


def run(
    device: Device,
    sources: Sequence[str],
    bound: Mapping[Key, Any],
    uniforms: Mapping[str, Any] | None = None,
    groups: int | tuple[int, int, int] = 1,
    **options: Any,
) -> dict[Key, npt.NDArray[Any]]:
    """Run a program once; return what is in each buffer and image afterwards.

    Parameters
    ----------
    bound : by binding point or name.
    uniforms : values of loose uniforms by name; the others keep their initial values.
    """
    module, interface = program(*sources, **options)
    bindings: dict[tuple[int, int], Any] = {}
    places: dict[Key, tuple[int, int]] = {}
    for key, value in bound.items():
        found = interface.resource(key) if isinstance(key, str) else interface.at(*key)[0]
        places[key] = found.set, found.binding
        bindings[places[key]] = value
    block = interface.initial_block()
    for name, value in (uniforms or {}).items():
        uniform, first = interface.uniform(name)
        uniform.write(block, value, first)
    with ExitStack() as stack:
        if interface.default_block is not None:
            place = interface.default_block.set, interface.default_block.binding
            # As a buffer, for an array would have to be of the block's types.
            bindings[place] = stack.enter_context(device.buffer(block))
        results = device.run(module, groups, bindings)
        return {key: np.asarray(results[place]) for key, place in places.items() if place in results}
