"""The content of an Amber script: shaders, buffers, samplers, pipelines and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.amber.elements import ElementType
from vkgroup.base.errors import InvalidInput, Unsupported
from vkgroup.base.sampler import Sampler

Place = tuple[int, int]
"""Set and binding."""


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
    dialect: str  # ``"vulkan"``, ``"hlsl"`` or ``"spirv"``
    source: str
    target: str  # as ``spv1.3`` or ``vulkan1.1``; empty for the default


@dataclass
class ScriptBuffer:
    """A buffer or an image, before the first command."""

    name: str
    type: ElementType
    line: int
    data: npt.NDArray[np.uint8] | None = (
        None  # the bytes of all elements; None: zeros of the framebuffer's size
    )
    dimension: str = ""  # ``"1D"``, ``"2D"`` or ``"3D"`` of an image
    extent: tuple[int, int, int] = (0, 1, 1)  # width, height and depth of an image; a width of 0: not known
    levels: int = 1
    samples: int = 1

    @property
    def is_image(self) -> bool:
        """Whether it was declared as an image."""
        return bool(self.dimension)


@dataclass(frozen=True)
class AttachedShader:
    """A shader of a pipeline."""

    shader: ScriptShader
    stage: str
    entry_point: str = "main"
    specialization: tuple[tuple[int, int | float], ...] = ()


@dataclass(frozen=True)
class Bound:
    """What is bound at one place: buffers, or images, with or without samplers; samplers alone."""

    kind: str  # as in the script: ``"storage"``, ``"combined_image_sampler"`` …
    buffers: tuple[str, ...] = ()
    samplers: tuple[str, ...] = ()
    offsets: tuple[int, ...] = ()  # first byte of each buffer
    ranges: tuple[int | None, ...] = ()  # bytes of each buffer; None for the rest
    level: int = 0


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
    clear: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    clear_depth: float = 1.0


@dataclass(frozen=True)
class Command:
    """A command: its line, its word, and its arguments by name."""

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
    spirv: str = "spv1.0"  # the default environment of shaders
    commands: list[Command] = field(default_factory=list)


class Words:
    """The words of a statement, which its reader takes one after the other."""

    def __init__(self, file: Path, line: int, words: Sequence[str]) -> None:
        self.file, self.line, self._words = file, line, list(words)

    def error(self, text: str) -> InvalidInput:
        """Return an error at the statement."""
        return InvalidInput(f"{self.file}:{self.line}: {text}")

    def unsupported(self, what: str) -> Unsupported:
        """Return the error of something that is not supported."""
        return Unsupported(f"{self.file}:{self.line}: {what} is not supported", [what])

    @property
    def following(self) -> str:
        """The next word; empty at the end."""
        return self._words[0] if self._words else ""

    def word(self, what: str) -> str:
        """Take the next word; raise InvalidInput at the end of the statement."""
        if not self._words:
            raise self.error(f"{what} is missing.")
        return self._words.pop(0)

    def take(self, *words: str) -> bool:
        """Take words if they are the next ones."""
        if self._words[: len(words)] != list(words):
            return False
        del self._words[: len(words)]
        return True

    def expect(self, word: str) -> None:
        """Take a word that must follow."""
        if not self.take(word):
            raise self.error(f"expected {word}, not {self.following or 'the end of the line'}.")

    def number(self, what: str) -> int | float:
        """Take a number."""
        return self.as_number(self.word(what))

    def integer(self, what: str) -> int:
        """Take an integer."""
        number = self.number(what)
        if not isinstance(number, int):
            raise self.error(f"{what} is an integer, not {number}.")
        return number

    def as_number(self, word: str) -> int | float:
        """Return a word as a number: an integer, one in base 16, or a float."""
        try:
            return int(word, 16) if word[:2] == "0x" else int(word)
        except ValueError:
            pass
        try:
            return float(word)
        except ValueError:
            raise self.error(f"{word!r} is no number.") from None

    def switch(self, what: str) -> bool:
        """Take ``on`` or ``off``."""
        if self.following not in ("on", "off"):
            raise self.error(f"{what} is on or off, not {self.following!r}.")
        return self.word(what) == "on"

    def rest(self) -> list[str]:
        """Take all other words."""
        words, self._words = self._words, []
        return words

    def end(self) -> None:
        """Raise InvalidInput if there are more words."""
        if self._words:
            raise self.error(f"{self.following!r} is one word too many.")
