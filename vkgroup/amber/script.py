"""The content of an Amber script: shaders, buffers, samplers, pipelines and commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.amber.elements import ElementType
from vkgroup.base.sampler import Sampler
from vkgroup.compiler.request import find_version
from vkgroup.dispatch import draw_state

Place = tuple[int, int]
"""Set and binding."""

BUFFERS = ("uniform", "storage", "uniform_dynamic", "storage_dynamic")
IMAGES = ("storage_image", "sampled_image", "combined_image_sampler")
TEXELS = ("uniform_texel_buffer", "storage_texel_buffer")
ATTACHMENTS = ("color", "depth_stencil", "resolve")
"""Kinds of bindings: of buffers, of images, of texel buffers, and of what a draw writes to."""

TOPOLOGIES = {
    vulkan.removeprefix("VK_PRIMITIVE_TOPOLOGY_"): name for name, vulkan in draw_state.TOPOLOGIES.items()
}
"""vkgroup's names of topologies, by those of scripts."""

PASSTHROUGH = """\
#version 430
layout(location = 0) in vec4 position;
void main() { gl_Position = position; }
"""
"""The vertex shader of ``SHADER vertex NAME PASSTHROUGH``."""


@dataclass(frozen=True)
class ScriptShader:
    """A shader, with the lines before it empty so that its line numbers are those of the script."""

    name: str
    stage: str  # by vkgroup's name; empty for several in one module
    dialect: str  # ``"vulkan"``, ``"hlsl"``, ``"spirv"``, or ``"hex"`` for words of SPIR-V
    source: str
    file: Path  # the script, or the file that the script names
    target: str = ""  # as ``spv1.3`` or ``vulkan1.1``; empty for the default


@dataclass
class ScriptBuffer:
    """A buffer or an image, before the first command."""

    name: str
    type: ElementType
    # the bytes of all elements; None: zeros, as many as the framebuffer has pixels
    data: npt.NDArray[np.uint8] | None = None
    dimension: str = ""  # ``"1D"``, ``"2D"`` or ``"3D"`` of an image
    extent: tuple[int, int, int] = (0, 1, 1)  # width, height and depth of an image; a width of 0: not known
    levels: int = 1
    samples: int = 1


@dataclass(frozen=True)
class AttachedShader:
    """A shader of a pipeline."""

    shader: ScriptShader
    stage: str
    entry_point: str = "main"
    specialization: tuple[tuple[int, bytes], ...] = ()  # ids, and the bytes of the values


@dataclass(frozen=True)
class Bound:
    """What is bound at one place: buffers, or images, with or without samplers; samplers alone."""

    kind: str  # as in the script: ``"storage"``, ``"combined_image_sampler"`` …
    buffers: tuple[str, ...] = ()
    samplers: tuple[str, ...] = ()
    offsets: tuple[int, ...] = ()  # first byte of each buffer
    ranges: tuple[int | None, ...] = ()  # bytes of each buffer; None for the rest


@dataclass
class SubgroupControl:
    """How the subgroups of a shader are required to be."""

    full: bool = False
    varying: bool = False
    size: int | str | None = None  # a number, ``"MIN"`` or ``"MAX"``


@dataclass
class ScriptPipeline:
    """A pipeline."""

    name: str
    kind: str  # ``"compute"`` or ``"graphics"``
    shaders: dict[str, AttachedShader] = field(default_factory=dict)  # by stage
    bindings: dict[Place, Bound] = field(default_factory=dict)
    push: str | None = None
    colors: dict[int, str] = field(default_factory=dict)  # buffers by location
    resolves: list[str] = field(default_factory=list)
    depth: str | None = None
    depth_state: dict[str, Any] = field(default_factory=dict)
    size: tuple[int, int] = (250, 250)
    vertices: dict[int, str] = field(default_factory=dict)  # buffers by location
    indices: str | None = None
    patch_vertices: int = 3
    subgroups: dict[str, SubgroupControl] = field(default_factory=dict)  # by shader


@dataclass(frozen=True)
class ScriptCommand:
    """A command: its line, its word, and its arguments by name.

    - ``RUN``: ``pipeline``, and ``groups``; or ``rectangle`` with perhaps ``cells``; or ``topology``,
      ``indexed``, and perhaps ``start_idx``, ``count``, ``start_instance``, ``instance_count``.
    - ``EXPECT``: ``buffer``, ``way`` (the comparison), and ``other`` with perhaps ``tolerance``; or
      ``position``, ``size``, ``values``, ``tolerances``; or ``offset``, ``values``, ``tolerances``, and
      perhaps ``type``, which replaces that of the buffer.
    - ``CLEAR``, ``CLEAR_COLOR``, ``CLEAR_DEPTH``: ``pipeline``, and ``value``.
    - ``COPY``: ``source``, ``target``. ``WRITE``: ``buffer``, ``offset``, ``data``.
    - ``REPEAT``: ``count``, ``commands``.
    """

    line: int
    word: str
    arguments: dict[str, Any]


@dataclass
class Script:
    """A script that was read."""

    file: Path
    shaders: dict[str, ScriptShader] = field(default_factory=dict)
    buffers: dict[str, ScriptBuffer] = field(default_factory=dict)
    samplers: dict[str, Sampler] = field(default_factory=dict)
    pipelines: dict[str, ScriptPipeline] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # texts of VIRTUAL_FILE
    spirv: str = "spv1.0"  # the default environment of shaders
    size: int | None = None  # the subgroup size of the expected values, by a comment of vkgroup's scripts
    commands: list[ScriptCommand] = field(default_factory=list)


def below(lines: int, source: str) -> str:
    """Return a source below empty lines; in GLSL they follow ``#version``, which must come first."""
    version = find_version(source)
    end = version.end() if version else 0
    return source[:end] + "\n" * lines + source[end:]
