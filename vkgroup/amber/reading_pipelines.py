"""Reading of the statements of a pipeline in an Amber script."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vkgroup.amber.script import (
    AttachedShader,
    Bound,
    Script,
    ScriptPipeline,
    SubgroupControl,
    Words,
)
from vkgroup.base.choices import COMPARISONS
from vkgroup.spec.stages import STAGE_NAMES

_BUFFERS = ("uniform", "storage", "uniform_dynamic", "storage_dynamic")
_IMAGES = ("storage_image", "sampled_image", "combined_image_sampler")
_TEXELS = ("uniform_texel_buffer", "storage_texel_buffer")


def _attach(script: Script, pipeline: ScriptPipeline, words: Words, _: Iterator[Words]) -> None:
    name = words.word("the name of a shader")
    if name not in script.shaders:
        raise words.error(f"there is no shader {name!r}.")
    shader = script.shaders[name]
    stage, entry_point, constants = shader.stage, "main", []
    while words.following:
        if words.take("TYPE"):
            stage = words.word("a stage")
        elif words.take("ENTRY_POINT"):
            entry_point = words.word("an entry point")
        else:
            words.expect("SPECIALIZE")
            number = words.integer("the id of a constant")
            words.expect("AS")
            words.word("a type")
            constants.append((number, words.number("a value")))
    if stage not in STAGE_NAMES:
        raise words.error(f"TYPE with a stage is missing for {name!r}.")
    if (stage == "compute") != (pipeline.kind == "compute"):
        raise words.error(f"a {pipeline.kind} pipeline has no {stage} shader.")
    if stage in pipeline.shaders and pipeline.shaders[stage].shader.name != name:
        raise words.error(f"the pipeline has two {stage} shaders.")
    pipeline.shaders[stage] = AttachedShader(shader, stage, entry_point, tuple(constants))


def _bind(script: Script, pipeline: ScriptPipeline, words: Words, _: Iterator[Words]) -> None:
    what = words.word("BUFFER or SAMPLER")
    if what.startswith("SAMPLER"):
        names = _names(words, script.samplers, "sampler", "DESCRIPTOR_SET", "KERNEL")
        pipeline.bindings[_place(words)] = Bound("sampler", samplers=names)
        words.end()
        return
    if not what.startswith("BUFFER"):
        raise words.unsupported(f"BIND {what}")
    buffers = _names(words, script.buffers, "buffer", "AS", "KERNEL")
    words.expect("AS")
    kind = words.word("the kind of a buffer")
    if kind == "color":
        words.expect("LOCATION")
        location = words.integer("a location")
        pipeline.colors[location] = buffers[0]
        if words.take("BASE_MIP_LEVEL") and words.integer("a level"):
            raise words.unsupported("BASE_MIP_LEVEL of a color buffer")
    elif kind == "depth_stencil":
        pipeline.depth = buffers[0]
    elif kind == "push_constant":
        pipeline.push = buffers[0]
    elif kind == "resolve":
        pipeline.resolves.append(buffers[0])
    else:
        _bind_descriptor(script, pipeline, words, kind, buffers)
    words.end()


def _bind_descriptor(
    script: Script, pipeline: ScriptPipeline, words: Words, kind: str, buffers: tuple[str, ...]
) -> None:
    if kind not in (*_BUFFERS, *_IMAGES, *_TEXELS):
        raise words.error(f"unknown kind {kind!r} of a buffer.")
    samplers: tuple[str, ...] = ()
    if kind == "combined_image_sampler":
        words.expect("SAMPLER")
        samplers = _names(words, script.samplers, "sampler", "DESCRIPTOR_SET") * len(buffers)
    place = _place(words)
    level = words.integer("a level") if words.take("BASE_MIP_LEVEL") else 0
    offsets = [0] * len(buffers)
    ranges: list[int | None] = [None] * len(buffers)
    for option in ("OFFSET", "DESCRIPTOR_OFFSET", "DESCRIPTOR_RANGE"):
        for number in range(len(buffers) if words.take(option) else 0):
            value = words.integer(option)
            if option == "DESCRIPTOR_RANGE":
                ranges[number] = value if value >= 0 else None
            else:
                offsets[number] += value
    pipeline.bindings[place] = Bound(kind, buffers, samplers, tuple(offsets), tuple(ranges), level)


def _names(words: Words, known: object, what: str, *ends: str) -> tuple[str, ...]:
    """Take names up to a word that ends the list."""
    assert isinstance(known, dict)
    names = []
    while words.following not in ends:
        name = words.word(f"the name of a {what}")
        if name not in known:
            raise words.error(f"there is no {what} {name!r}.")
        names.append(name)
    if words.following == "KERNEL":
        raise words.unsupported("BIND … KERNEL (OpenCL)")
    if not names:
        raise words.error(f"the name of a {what} is missing.")
    return tuple(names)


def _place(words: Words) -> tuple[int, int]:
    words.expect("DESCRIPTOR_SET")
    number = words.integer("a set")
    words.expect("BINDING")
    return number, words.integer("a binding")


def _vertex_data(script: Script, pipeline: ScriptPipeline, words: Words, _: Iterator[Words]) -> None:
    (name,) = _names(words, script.buffers, "buffer", "LOCATION")
    words.expect("LOCATION")
    pipeline.vertices[words.integer("a location")] = name
    while words.following:
        option, value = words.word(""), words.word("a value")
        if (option, value) not in (("RATE", "vertex"), ("OFFSET", "0")):
            raise words.unsupported(f"VERTEX_DATA {option} {value}")


def _index_data(script: Script, pipeline: ScriptPipeline, words: Words, _: Iterator[Words]) -> None:
    pipeline.indices = words.word("the name of a buffer")
    if pipeline.indices not in script.buffers:
        raise words.error(f"there is no buffer {pipeline.indices!r}.")


def _framebuffer(_: Script, pipeline: ScriptPipeline, words: Words, __: Iterator[Words]) -> None:
    pipeline.size = words.integer("a width"), words.integer("a height")
    words.end()


def _viewport(_: Script, pipeline: ScriptPipeline, words: Words, __: Iterator[Words]) -> None:
    x, y = words.number("x"), words.number("y")
    words.expect("SIZE")
    given = [x, y, words.number("a width"), words.number("a height"), 0, 1]
    if words.take("MIN_DEPTH"):
        given[4] = words.number("a depth")
    if words.take("MAX_DEPTH"):
        given[5] = words.number("a depth")
    if given != [0, 0, *pipeline.size, 0, 1]:
        raise words.unsupported("VIEWPORT of a part of the framebuffer, or with other depths than 0 to 1")


def _polygon_mode(_: Script, __: ScriptPipeline, words: Words, ___: Iterator[Words]) -> None:
    if (mode := words.word("a mode")) != "fill":
        raise words.unsupported(f"POLYGON_MODE {mode}")


def _patch_points(_: Script, pipeline: ScriptPipeline, words: Words, __: Iterator[Words]) -> None:
    pipeline.patch_vertices = words.integer("a number")


def _depth(_: Script, pipeline: ScriptPipeline, words: Words, block: Iterator[Words]) -> None:
    state = pipeline.depth_state
    for each in block:
        word = each.word("a word")
        if word in ("TEST", "WRITE"):
            state[word] = each.switch(word)
        elif word == "COMPARE_OP":
            state[word] = each.word("a comparison")
            if state[word] not in COMPARISONS:
                raise each.error(f"unknown comparison {state[word]!r}.")
        elif word == "CLAMP" and not each.switch(word):
            pass
        elif word == "BOUNDS" or (word == "BIAS" and not _is_zero(each)):
            # A test of bounds from 0 to 1 lets everything pass.
            if each.rest() != ["min", "0.0", "max", "1.0"]:
                raise words.unsupported(f"DEPTH {word}")
        elif word not in ("CLAMP", "BIAS"):
            raise words.unsupported(f"DEPTH {word}")
        elif word == "CLAMP":
            raise words.unsupported("DEPTH CLAMP on")


def _is_zero(words: Words) -> bool:
    """Whether a bias has only zeros."""
    return all(word.isalpha() or float(words.as_number(word)) == 0 for word in words.rest())


def _subgroup(script: Script, pipeline: ScriptPipeline, words: Words, block: Iterator[Words]) -> None:
    name = words.word("the name of a shader")
    if name not in script.shaders:
        raise words.error(f"there is no shader {name!r}.")
    control = pipeline.subgroups.setdefault(name, SubgroupControl())
    for each in block:
        word = each.word("a word")
        if word == "FULLY_POPULATED":
            control.full = each.switch(word)
        elif word == "VARYING_SIZE":
            control.varying = each.switch(word)
        elif word == "REQUIRED_SIZE":
            size = each.word("a size")
            control.size = size if size in ("MIN", "MAX") else int(each.as_number(size))
        else:
            raise each.error(f"unknown word {word!r}.")


Reader = Callable[[Script, ScriptPipeline, Words, Iterator[Words]], None]

PIPELINE_STATEMENTS: dict[str, Reader] = {
    "ATTACH": _attach,
    "BIND": _bind,
    "VERTEX_DATA": _vertex_data,
    "INDEX_DATA": _index_data,
    "FRAMEBUFFER_SIZE": _framebuffer,
    "VIEWPORT": _viewport,
    "POLYGON_MODE": _polygon_mode,
    "PATCH_CONTROL_POINTS": _patch_points,
    "DEPTH": _depth,
    "SUBGROUP": _subgroup,
}
"""The reader of each statement of a pipeline."""
