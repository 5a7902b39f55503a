"""Reading of scripts of VkRunner, the older format with sections in brackets, which Amber runs, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vkgroup.amber.elements import ElementType, element_type
from vkgroup.amber.reading_buffers import MOST_BYTES
from vkgroup.amber.script import (
    PASSTHROUGH,
    TOPOLOGIES,
    AttachedShader,
    Bound,
    Place,
    Script,
    ScriptBuffer,
    ScriptCommand,
    ScriptPipeline,
    ScriptShader,
    below,
)
from vkgroup.amber.words import Words

_SIZE = (250, 250)
"""Width and height of the framebuffer."""

_SHADER = re.compile(r"\[([a-z ]+) shader( spirv| spirv hex| passthrough)?\]")

_COMPARISONS = {"==": "EQ", "!=": "NE", "<": "LT", "<=": "LE", ">": "GT", ">=": "GE", "~=": "EQ"}
"""Comparisons; the one of floats allows a small error in both forms of equality."""

_SCALARS = {"": "float", "i": "int32", "u": "uint32", "d": "double"}


def read_vkrunner(file: Path, text: str) -> Script:
    """Read a script; errors are those of `read_script`."""
    reader = _SectionReader(file)
    section, first = "", 0
    body: list[str] = []
    for number, line in enumerate([*text.split("\n"), "[end]"], 1):
        if line.startswith("["):
            if section:
                reader.section(section, first, body)
            section, body, first = line.partition("#")[0].strip(), [], number
        else:
            body.append(line)
    return reader.finished()


class _SectionReader:
    """A script that is being read: one pipeline, which all its commands run."""

    def __init__(self, file: Path) -> None:
        self.script = Script(file)
        self._shaders: dict[str, ScriptShader] = {}
        self._pipeline = ScriptPipeline("pipeline", "graphics", size=_SIZE)
        self._entry_point = "main"
        self._sizes: dict[Place | None, int] = {}  # of buffers; those of the push constants have no place
        self._kinds: dict[Place, str] = {}
        self._tolerances: tuple[tuple[float, bool], ...] = ()
        self._statements: dict[str, Callable[[Words], None]] = {
            "ssbo": self._ssbo,
            "uniform": self._uniform,
            "compute": self._compute,
            "clear": self._clear,
            "draw": self._draw,
            "probe": self._probe,
            "relative": self._relative,
            "tolerance": self._tolerance,
        }

    def section(self, name: str, line: int, body: list[str]) -> None:
        """Read the lines of a section."""
        if (match := _SHADER.fullmatch(name)) is not None:
            stage, form = match[1].replace(" ", "_"), (match[2] or "").strip()
            dialect = {"spirv": "spirv", "spirv hex": "hex"}.get(form, "vulkan")
            source = PASSTHROUGH if form == "passthrough" else below(line, "\n".join(body) + "\n")
            self._shaders[stage] = ScriptShader(stage, stage, dialect, source, self.script.file)
            return
        lines = list(self._lines(line, body))
        if name == "[require]":
            if any(words.following == "VK_KHR_spirv_1_4" for words in lines):
                self.script.spirv = "spv1.4"
        elif name == "[vertex data]":
            self._vertex_data(lines)
        elif name == "[indices]":
            self._indices(lines)
        elif name == "[comment]":
            return
        elif name == "[test]":
            for words in lines:
                word = words.word("a statement")
                if word not in self._statements:
                    raise words.unsupported(word)
                self._statements[word](words)
        else:
            raise Words(self.script.file, line, []).unsupported(name)

    def _lines(self, line: int, body: list[str]) -> Iterator[Words]:
        """Yield the words of each line, with those of the lines that continue it."""
        first, held = 0, list[str]()
        for number, text in enumerate(body, line + 1):
            first = first if held else number
            held += re.sub("[(),]", " ", text.partition("#")[0]).split()
            if held[-1:] == ["\\"]:
                held.pop()
            elif held:
                yield Words(self.script.file, first, held)
                held = []

    def finished(self) -> Script:
        """Return the script, with its pipeline and buffers."""
        pipeline, script = self._pipeline, self.script
        for stage, shader in self._shaders.items():
            pipeline.shaders[stage] = AttachedShader(shader, stage, self._entry_point)
        script.shaders, script.pipelines = self._shaders, {pipeline.name: pipeline}
        plain = element_type("uint8")
        assert plain is not None
        for place, size in self._sizes.items():
            name = _name(place)
            script.buffers[name] = ScriptBuffer(name, plain, np.zeros(size, np.uint8))
            if place is None:
                pipeline.push = name
            else:
                pipeline.bindings[place] = Bound(self._kinds[place], (name,), (), (0,), (None,))
        if "compute" in pipeline.shaders:
            pipeline.kind = "compute"
        else:
            color = element_type("B8G8R8A8_UNORM")
            assert color is not None
            script.buffers["framebuffer"] = ScriptBuffer("framebuffer", color)
            pipeline.colors[0] = "framebuffer"
        for command in script.commands:
            words = Words(script.file, command.line, [])
            is_dispatch = "groups" in command.arguments
            if command.word == "RUN" and is_dispatch != (pipeline.kind == "compute"):
                raise words.error(f"the script has no {'compute' if is_dispatch else 'vertex'} shader.")
            named = command.arguments.get("buffer")
            if named is not None and named not in script.buffers:
                raise words.error(f"there is no buffer {named!r}.")
        return script

    def _add(self, words: Words, word: str, **arguments: Any) -> None:
        words.end()
        self.script.commands.append(ScriptCommand(words.line, word, {"pipeline": "pipeline", **arguments}))

    def _place(self, words: Words) -> Place:
        match = re.fullmatch(r"(?:(\d+):)?(\d+)", words.word("a binding"))
        if match is None:
            raise words.error("a binding is a number, or SET:NUMBER.")
        return int(match[1] or 0), int(match[2])

    def _write(self, words: Words, place: Place | None) -> None:
        """Read a type, an offset and numbers, which are written to a buffer."""
        kind, offset = _type(words), words.natural("an offset")
        data = kind.pack(words.values(kind))
        self._need(words, place, offset + data.size)
        self._add(words, "WRITE", buffer=_name(place), offset=offset, data=data)

    def _ssbo(self, words: Words) -> None:
        place = self._place(words)
        self._kinds[place] = "storage"
        if words.take("subdata"):
            self._write(words, place)
        else:
            self._need(words, place, words.natural("a size", 1))

    def _need(self, words: Words, place: Place | None, size: int) -> None:
        """Make a buffer at least as large as a size in bytes."""
        if size > MOST_BYTES:
            raise words.unsupported(f"more than {MOST_BYTES} bytes in a buffer")
        self._sizes[place] = max(self._sizes.get(place, 0), size)

    def _uniform(self, words: Words) -> None:
        place = self._place(words) if words.take("ubo") else None
        if place is not None:
            self._kinds[place] = "uniform"
        self._write(words, place)

    def _compute(self, words: Words) -> None:
        if words.take("entrypoint"):
            self._entry_point = words.word("an entry point")
        else:
            self._add(words, "RUN", groups=tuple(words.natural("a number") for _ in range(3)))

    def _clear(self, words: Words) -> None:
        if words.take("color"):
            color = tuple(words.finite("a color") for _ in range(4))
            self._add(words, "CLEAR_COLOR", value=color)
        elif words.following:
            raise words.unsupported(f"clear {words.following}")
        else:
            self._add(words, "CLEAR")

    def _draw(self, words: Words) -> None:
        if words.take("arrays"):
            is_indexed = words.take("indexed")
            if words.following == "instanced":
                raise words.unsupported("draw arrays instanced")
            topology = TOPOLOGIES[words.one_of("a topology", tuple(TOPOLOGIES))]
            first, count = words.natural("the first vertex"), words.natural("a count")
            if is_indexed and first:
                raise words.unsupported("draw arrays indexed with a first vertex")
            self._add(words, "RUN", topology=topology, indexed=is_indexed, start_idx=first, count=count)
            return
        words.expect("rect")
        if words.following in ("ortho", "patch"):
            raise words.unsupported(f"draw rect {words.following}")
        x, y, width, height = (words.finite("a number") for _ in range(4))
        # From clip coordinates to pixels, which the rectangles of Amber have.
        pixels = ((x + 1) / 2 * _SIZE[0], (y + 1) / 2 * _SIZE[1], width / 2 * _SIZE[0], height / 2 * _SIZE[1])
        self._add(words, "RUN", rectangle=pixels)

    def _probe(self, words: Words) -> None:
        if not words.take("ssbo"):
            self._probe_rectangle(words, (1.0, 1.0))
            return
        kind, name = _type(words), _name(self._place(words))
        offset, sign = words.natural("an offset"), words.one_of("a comparison", tuple(_COMPARISONS))
        values = words.values(kind)
        given = {"buffer": name, "type": kind, "way": _COMPARISONS[sign], "offset": offset, "values": values}
        is_near = sign == "~="
        self._add(words, "EXPECT", **given, tolerances=self._tolerances[:1] if is_near else ())

    def _tolerance(self, words: Words) -> None:
        """Read the tolerances of what follows: one, or one for each channel."""
        found = [(float(words.as_number(word.rstrip("%"))), word.endswith("%")) for word in words.rest()]
        if len(found) not in (1, 4):
            raise words.error("one tolerance is expected, or four.")
        self._tolerances = tuple(found)

    def _relative(self, words: Words) -> None:
        words.expect("probe")
        self._probe_rectangle(words, _SIZE)

    def _probe_rectangle(self, words: Words, scale: tuple[float, float]) -> None:
        is_rectangle = words.take("rect")
        channels = words.one_of("a probe", ("rgb", "rgba"))
        x, y = words.finite("x"), words.finite("y")
        width, height = (words.finite("a size") if is_rectangle else 1 / each for each in scale)
        position = int(x * scale[0]), int(y * scale[1])
        # VkRunner's own scripts count from the position on, but their sizes may go beyond the edge.
        size = (
            min(int(width * scale[0]), _SIZE[0] - position[0]),
            min(int(height * scale[1]), _SIZE[1] - position[1]),
        )
        if min(*position, *(each - 1 for each in size)) < 0:
            raise words.error(f"the probe is not in the framebuffer of {_SIZE[0]} x {_SIZE[1]} pixels.")
        color = tuple(words.finite("a color") for _ in channels)
        given = {"buffer": "framebuffer", "way": "EQ_RGBA", "position": position, "size": size}
        self._add(words, "EXPECT", **given, values=color, tolerances=self._tolerances)

    def _vertex_data(self, lines: list[Words]) -> None:
        if not lines:
            return
        heading, *rows = lines
        columns: list[tuple[int, ElementType]] = []
        for word in heading.rest():
            location, _, name = word.partition("/")
            kind = element_type(name)
            if kind is None or not location.isdecimal():
                raise heading.unsupported(f"the vertex format {word}")
            columns.append((int(location), kind))
        numbers = [[words.as_number(word) for word in words.rest()] for words in rows]
        if not rows or any(len(row) != sum(kind.count for _, kind in columns) for row in numbers):
            raise heading.error("each line of [vertex data] has a number for each component.")
        start = 0
        for place, column in columns:
            held = [number for row in numbers for number in row[start : start + column.count]]
            heading.require_fitting(held, column)
            label = f"vertices {place}"
            self.script.buffers[label] = ScriptBuffer(label, column, column.pack(held))
            self._pipeline.vertices[place] = label
            start += column.count

    def _indices(self, lines: list[Words]) -> None:
        kind = element_type("uint32")
        assert kind is not None
        data = kind.pack([number for words in lines for number in words.values(kind)])
        self.script.buffers["indices"] = ScriptBuffer("indices", kind, data)
        self._pipeline.indices = "indices"


def _name(place: Place | None) -> str:
    return "push constants" if place is None else f"{place[0]}:{place[1]}"


def _type(words: Words) -> ElementType:
    """Take a type as GLSL names it."""
    name = words.word("a type")
    vector = re.fullmatch(r"([iud]?)vec([234])", name)
    plain = {"int": "int32", "uint": "uint32", "float16_t": "float16"}.get(name, name.removesuffix("_t"))
    kind = element_type(f"vec{vector[2]}<{_SCALARS[vector[1]]}>" if vector else plain)
    if kind is None:
        raise words.unsupported(f"the type {name}")
    return kind
