"""Reading of the commands of an Amber script."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from vkgroup.amber.script import TOPOLOGIES, Script, ScriptPipeline
from vkgroup.amber.words import Words

_COMPARISONS = ("EQ", "NE", "LT", "LE", "GT", "GE")


def _pipeline_of(script: Script, words: Words) -> ScriptPipeline:
    return script.pipelines[words.known(script.pipelines, "pipeline")]


def _run(script: Script, words: Words) -> dict[str, Any]:
    words.take("TIMED_EXECUTION")
    pipeline = _pipeline_of(script, words)
    given: dict[str, Any] = {"pipeline": pipeline.name}
    if (pipeline.kind == "compute") != words.following.isdecimal():
        raise words.error(f"{pipeline.name!r} is a {pipeline.kind} pipeline.")
    if pipeline.kind == "compute":
        given["groups"] = tuple(words.natural("a number of workgroups") for _ in range(3))
    elif words.take("DRAW_RECT") or words.following == "DRAW_GRID":
        is_grid = words.take("DRAW_GRID")
        words.expect("POS")
        position = words.finite("x"), words.finite("y")
        words.expect("SIZE")
        given["rectangle"] = (*position, words.finite("a width"), words.finite("a height"))
        if is_grid:
            words.expect("CELLS")
            given["cells"] = words.natural("the columns", 1), words.natural("the rows", 1)
    else:
        words.expect("DRAW_ARRAY")
        words.expect("AS")
        given["topology"] = TOPOLOGIES[words.one_of("a topology", tuple(TOPOLOGIES))]
        given["indexed"] = words.take("INDEXED")
        for option in ("START_IDX", "COUNT", "START_INSTANCE", "INSTANCE_COUNT"):
            if words.take(option):
                given[option.lower()] = words.natural(option)
    return given


def _clear(script: Script, words: Words) -> dict[str, Any]:
    return {"pipeline": _pipeline_of(script, words).name}


def _clear_color(script: Script, words: Words) -> dict[str, Any]:
    given = _clear(script, words)
    return {**given, "value": tuple(words.finite("a color") / 255 for _ in range(4))}


def _clear_depth(script: Script, words: Words) -> dict[str, Any]:
    return {**_clear(script, words), "value": words.finite("a depth")}


def _copy(script: Script, words: Words) -> dict[str, Any]:
    source = words.known(script.buffers, "buffer")
    words.expect("TO")
    return {"source": source, "target": words.known(script.buffers, "buffer")}


def _expect(script: Script, words: Words) -> dict[str, Any]:
    given: dict[str, Any] = {"buffer": words.known(script.buffers, "buffer")}
    way = words.word("a comparison")
    if way in ("EQ_BUFFER", "RMSE_BUFFER", "EQ_HISTOGRAM_EMD_BUFFER"):
        given |= {"way": way, "other": words.known(script.buffers, "buffer")}
        if way != "EQ_BUFFER":
            words.expect("TOLERANCE")
            given["tolerance"] = words.finite("a tolerance")
        return given
    if way != "IDX":
        raise words.error(f"expected IDX, not {way!r}.")
    position = [words.natural("an index")]
    if re.match(r"-?\d", words.following):
        position.append(words.natural("y"))
    if words.take("SIZE"):
        size = words.natural("a width", 1), words.natural("a height", 1)
        way = words.word("EQ_RGB or EQ_RGBA")
        if way not in ("EQ_RGB", "EQ_RGBA") or len(position) != 2:
            raise words.error("expected IDX X Y SIZE W H, and EQ_RGB or EQ_RGBA.")
        color = [words.natural("a color") for _ in way[3:]]
        if max(color) > 255:
            raise words.error(f"a color is from 0 to 255, not {max(color)}.")
        given |= {"way": way, "position": tuple(position), "size": size}
        given["tolerances"] = _tolerances(words)
        if len(given["tolerances"]) not in (0, 1, len(color)):
            raise words.error(f"one tolerance is expected, or {len(color)}.")
        return {**given, "values": tuple(value / 255 for value in color)}
    given["tolerances"] = _tolerances(words)
    way = words.word("a comparison")
    if way not in _COMPARISONS or len(position) != 1:
        raise words.error(f"expected IDX X, and one of {', '.join(_COMPARISONS)}.")
    if way != "EQ" and given["tolerances"]:
        raise words.error("TOLERANCE is for EQ.")
    values = words.values(script.buffers[given["buffer"]].type)
    if not values:
        raise words.error("a value is missing.")
    return {**given, "way": way, "offset": position[0], "values": values}


def _tolerances(words: Words) -> tuple[tuple[float, bool], ...]:
    """Take ``TOLERANCE`` with its numbers; each with whether it is a percentage."""
    if not words.take("TOLERANCE"):
        return ()
    found = []
    while re.match(r"[\d.]", words.following):
        word = words.word("a tolerance")
        is_percent = word.endswith("%") or words.take("%")
        found.append((float(words.as_number(word.rstrip("%"))), is_percent))
    if not 1 <= len(found) <= 4:
        raise words.error("one to four tolerances are expected.")
    return tuple(found)


COMMANDS: dict[str, Callable[[Script, Words], dict[str, Any]]] = {
    "RUN": _run,
    "CLEAR": _clear,
    "CLEAR_COLOR": _clear_color,
    "CLEAR_DEPTH": _clear_depth,
    "EXPECT": _expect,
    "COPY": _copy,
}
"""The readers of the commands; each returns the arguments of the command."""
