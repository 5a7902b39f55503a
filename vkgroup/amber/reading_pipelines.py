"""Reading of the statements of a pipeline in an Amber script."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vkgroup.amber.elements import element_type
from vkgroup.amber.script import (
    BUFFERS,
    IMAGES,
    TEXELS,
    AttachedShader,
    Bound,
    Script,
    ScriptPipeline,
    SubgroupControl,
)
from vkgroup.amber.words import Words
from vkgroup.base.choices import COMPARISONS
from vkgroup.spec.stages import STAGE_NAMES

Block = Callable[[Words], Iterator[Words]]
"""Yields the statements up to END."""


class PipelineReader:
    """Reads the statements of a pipeline; `block` yields those of a block in it."""

    def __init__(self, script: Script, pipeline: ScriptPipeline, block: Block) -> None:
        self._script, self._pipeline, self._block = script, pipeline, block
        self._viewport: tuple[Words, list[int | float]] | None = None
        self._statements: dict[str, Callable[[Words], None]] = {
            "ATTACH": self._attach,
            "BIND": self._bind,
            "VERTEX_DATA": self._vertex_data,
            "INDEX_DATA": self._index_data,
            "FRAMEBUFFER_SIZE": self._framebuffer_size,
            "VIEWPORT": self._read_viewport,
            "POLYGON_MODE": self._polygon_mode,
            "PATCH_CONTROL_POINTS": self._patch_control_points,
            "DEPTH": self._depth,
            "SUBGROUP": self._subgroup,
        }

    def statement(self, words: Words) -> None:
        """Read a statement."""
        word = words.word("a statement")
        if word not in self._statements:
            raise words.unsupported(word) if word.isupper() else words.error(f"unknown statement {word!r}.")
        self._statements[word](words)

    def end(self) -> None:
        """Check what only the whole pipeline decides."""
        if self._viewport is not None and self._viewport[1] != [0, 0, *self._pipeline.size, 0, 1]:
            what = "VIEWPORT of a part of the framebuffer, or with other depths than 0 to 1"
            raise self._viewport[0].unsupported(what)

    def _attach(self, words: Words) -> None:
        shader = self._script.shaders[words.known(self._script.shaders, "shader")]
        stage, entry_point, constants = shader.stage, "main", []
        while words.following:
            if words.take("TYPE"):
                stage = words.word("a stage")
            elif words.take("ENTRY_POINT"):
                entry_point = words.word("an entry point")
            else:
                words.expect("SPECIALIZE")
                number = words.natural("the id of a constant")
                words.expect("AS")
                constants.append((number, self._constant(words)))
        if stage not in STAGE_NAMES:
            raise words.error(f"TYPE with a stage is missing for {shader.name!r}.")
        if (stage == "compute") != (self._pipeline.kind == "compute"):
            raise words.error(f"a {self._pipeline.kind} pipeline has no {stage} shader.")
        shaders = self._pipeline.shaders
        if stage in shaders and shaders[stage].shader is not shader:
            raise words.error(f"the pipeline has two {stage} shaders.")
        shaders[stage] = AttachedShader(shader, stage, entry_point, tuple(constants))

    def _constant(self, words: Words) -> bytes:
        """Take a type and a value, and return its bytes."""
        name = words.word("a type")
        if (kind := element_type(name)) is None or kind.count > 1:
            raise words.error(f"unknown type {name!r} of a constant.")
        value = words.number("a value")
        words.require_fitting([value], kind)
        return kind.pack([value]).tobytes()

    def _bind(self, words: Words) -> None:
        script, pipeline = self._script, self._pipeline
        what = words.word("BUFFER or SAMPLER")
        if what in ("SAMPLER", "SAMPLER_ARRAY"):
            names = words.all_known(script.samplers, "sampler", "DESCRIPTOR_SET", "KERNEL")
            pipeline.bindings[_place(words)] = Bound("sampler", samplers=names)
            return
        if what not in ("BUFFER", "BUFFER_ARRAY"):
            raise words.unsupported(f"BIND {what}")
        buffers = words.all_known(script.buffers, "buffer", "AS", "KERNEL")
        if words.following == "KERNEL":
            raise words.unsupported("BIND … KERNEL (OpenCL)")
        words.expect("AS")
        kind = words.word("the kind of a buffer")
        if kind == "color":
            words.expect("LOCATION")
            pipeline.colors[words.natural("a location")] = buffers[0]
            _level(words)
        elif kind == "depth_stencil":
            pipeline.depth = buffers[0]
        elif kind == "push_constant":
            pipeline.push = buffers[0]
        elif kind == "resolve":
            pipeline.resolves.append(buffers[0])
        elif kind in (*BUFFERS, *IMAGES, *TEXELS):
            self._bind_descriptor(words, kind, buffers)
        else:
            raise words.error(f"unknown kind {kind!r} of a buffer.")

    def _bind_descriptor(self, words: Words, kind: str, buffers: tuple[str, ...]) -> None:
        samplers: tuple[str, ...] = ()
        if kind == "combined_image_sampler":
            words.expect("SAMPLER")
            samplers = words.all_known(self._script.samplers, "sampler", "DESCRIPTOR_SET") * len(buffers)
        place = _place(words)
        _level(words)
        offsets = [0] * len(buffers)
        ranges: list[int | None] = [None] * len(buffers)
        for option in ("OFFSET", "DESCRIPTOR_OFFSET", "DESCRIPTOR_RANGE"):
            for number in range(len(buffers) if words.take(option) else 0):
                value = words.natural(option, -1 if option == "DESCRIPTOR_RANGE" else 0)
                if option == "DESCRIPTOR_RANGE":
                    ranges[number] = value if value >= 0 else None
                else:
                    offsets[number] += value
        self._pipeline.bindings[place] = Bound(
            kind, buffers, samplers[: len(buffers)], tuple(offsets), tuple(ranges)
        )

    def _vertex_data(self, words: Words) -> None:
        name = words.known(self._script.buffers, "buffer")
        words.expect("LOCATION")
        self._pipeline.vertices[words.natural("a location")] = name
        while words.following:
            option, value = (
                words.one_of("an option", ("RATE", "OFFSET", "STRIDE", "FORMAT")),
                words.word("a value"),
            )
            if (option, value) not in (("RATE", "vertex"), ("OFFSET", "0")):
                raise words.unsupported(f"VERTEX_DATA {option} {value}")

    def _index_data(self, words: Words) -> None:
        self._pipeline.indices = words.known(self._script.buffers, "buffer")

    def _framebuffer_size(self, words: Words) -> None:
        self._pipeline.size = words.natural("a width", 1), words.natural("a height", 1)

    def _read_viewport(self, words: Words) -> None:
        given = [words.number("x"), words.number("y")]
        words.expect("SIZE")
        given += [words.number("a width"), words.number("a height"), 0, 1]
        for number, option in ((4, "MIN_DEPTH"), (5, "MAX_DEPTH")):
            if words.take(option):
                given[number] = words.number("a depth")
        self._viewport = words, given

    def _polygon_mode(self, words: Words) -> None:
        if (mode := words.word("a mode")) != "fill":
            raise words.unsupported(f"POLYGON_MODE {mode}")

    def _patch_control_points(self, words: Words) -> None:
        self._pipeline.patch_vertices = words.natural("a number", 1)

    def _depth(self, words: Words) -> None:
        state = self._pipeline.depth_state
        for each in self._block(words):
            word = each.word("a word")
            if word in ("TEST", "WRITE"):
                state[word] = each.switch(word)
            elif word == "COMPARE_OP":
                state[word] = each.one_of("a comparison", COMPARISONS)
            elif word == "CLAMP":
                if each.switch(word):
                    raise each.unsupported("DEPTH CLAMP on")
            elif word in ("BOUNDS", "BIAS"):
                numbers = [each.as_number(name) for name in each.rest()[1::2]]
                # A test of bounds from 0 to 1 lets everything pass.
                if numbers != ([0, 1] if word == "BOUNDS" else [0] * len(numbers)):
                    raise each.unsupported(f"DEPTH {word}")
            else:
                raise each.unsupported(f"DEPTH {word}")

    def _subgroup(self, words: Words) -> None:
        name = words.known(self._script.shaders, "shader")
        control = self._pipeline.subgroups.setdefault(name, SubgroupControl())
        for each in self._block(words):
            word = each.one_of("a word", ("FULLY_POPULATED", "VARYING_SIZE", "REQUIRED_SIZE"))
            if word == "FULLY_POPULATED":
                control.full = each.switch(word)
            elif word == "VARYING_SIZE":
                control.varying = each.switch(word)
            elif each.following in ("MIN", "MAX"):
                control.size = each.word("a size")
            else:
                control.size = each.natural("a size", 1)


def _place(words: Words) -> tuple[int, int]:
    if words.following == "KERNEL":
        raise words.unsupported("BIND … KERNEL (OpenCL)")
    words.expect("DESCRIPTOR_SET")
    number = words.natural("a set")
    words.expect("BINDING")
    return number, words.natural("a binding")


def _level(words: Words) -> None:
    """Take ``BASE_MIP_LEVEL``, of which only 0 is supported."""
    if words.take("BASE_MIP_LEVEL") and words.integer("a level"):
        raise words.unsupported("BASE_MIP_LEVEL")
