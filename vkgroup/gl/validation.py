"""Validation of the programs in use against each other and the state (OpenGL 4.2, 2.11.12)."""

from __future__ import annotations

from collections.abc import Iterable

from vkgroup.gl.executable import Executable


def problems(executables: Iterable[Executable], most_units: int) -> list[str]:
    """Say why commands that run shaders would raise INVALID_OPERATION.

    The rules are the same for draws and compute dispatches, and apply to all stages (ARB_compute_shader,
    issue 11).

    Parameters
    ----------
    executables : the active programs, each once.
    most_units : MAX_COMBINED_TEXTURE_IMAGE_UNITS.
    """
    messages = []
    samplers = 0
    kinds: dict[int, tuple[str, str]] = {}
    for executable in executables:
        for resource in executable.interface.resources:
            if resource.kind != "sampler":
                continue
            for unit in executable.points_of(resource):
                samplers += 1
                kind, name = kinds.setdefault(unit, (resource.type, resource.name))
                if kind != resource.type:
                    messages.append(
                        f"texture unit {unit} is used by {name!r}, a {kind}, and by {resource.name!r}, a"
                        f" {resource.type}"
                    )
    if samplers > most_units:
        messages.append(
            f"MAX_COMBINED_TEXTURE_IMAGE_UNITS is {most_units}, and {samplers} samplers are active"
        )
    return messages
