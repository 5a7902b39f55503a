"""Reading of the buffers, images and samplers of an Amber script."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from vkgroup.amber.elements import ElementType, element_type
from vkgroup.amber.script import ScriptBuffer
from vkgroup.amber.words import Words
from vkgroup.base.errors import InvalidDispatch
from vkgroup.base.files import read_bytes, read_text
from vkgroup.base.sampler import Sampler

Following = Callable[[], Words | None]
"""Returns the words of the next line; None at the end."""

MOST_BYTES = 1 << 28
"""The greatest buffer of a script."""

_CONTENTS = ("DATA", "FILL", "SERIES_FROM", "FILE")

_SAMPLER = {"MAG_FILTER": "filter", "MIN_FILTER": "min_filter", "BORDER_COLOR": "border_color"}


def read_buffer(name: str, words: Words, following: Following) -> ScriptBuffer:
    """Read a buffer, after its name."""
    if words.take("FORMAT"):
        buffer = ScriptBuffer(name, _type(words, words.word("a format")))
        while words.following:
            _image_option(words, buffer)
        return buffer
    words.expect("DATA_TYPE")
    kind = words.word("a type")
    layout = words.word("a layout") if words.following in ("STD140", "STD430") else ""
    buffer = ScriptBuffer(name, _type(words, kind, std140=layout == "STD140"))
    width, height, count = 0, 1, None
    while words.following in ("WIDTH", "HEIGHT", "SIZE"):
        which, number = words.word("a word"), words.natural("a size", 1)
        width, height = (number, height) if which == "WIDTH" else (width, number)
        count = number if which == "SIZE" else width * height
    if width:
        buffer.extent = (width, height, 1)
    _contents(words, buffer, count, following)
    return buffer


def read_image(name: str, words: Words, following: Following) -> ScriptBuffer:
    """Read an image, after its name."""
    if not (words.take("FORMAT") or words.take("DATA_TYPE")):
        raise words.error("an IMAGE has a FORMAT or a DATA_TYPE.")
    buffer = ScriptBuffer(name, _type(words, words.word("a format")), dimension="2D")
    sizes = {"WIDTH": 0, "HEIGHT": 1, "DEPTH": 1}
    while words.following and words.following not in _CONTENTS:
        if words.following in sizes:
            which = words.word("a word")
            sizes[which] = words.natural(which, 1)
        elif words.following.startswith("DIM_"):
            buffer.dimension = words.word("a dimension")[4:]
        else:
            _image_option(words, buffer)
    if buffer.dimension not in ("1D", "2D", "3D") or min(sizes.values()) < 1:
        raise words.error("an IMAGE is DIM_1D, DIM_2D or DIM_3D, with WIDTH, HEIGHT and DEPTH as needed.")
    buffer.extent = (sizes["WIDTH"], sizes["HEIGHT"], sizes["DEPTH"])
    _contents(words, buffer, math.prod(buffer.extent), following)
    return buffer


def _type(words: Words, name: str, *, std140: bool = False) -> ElementType:
    kind = element_type(name, std140=std140)
    if kind is None:
        if re.fullmatch(r"[A-Z]\w*_\w+", name):
            raise words.unsupported(f"the format {name}")
        raise words.error(f"unknown type {name!r}.")
    return kind


def _image_option(words: Words, buffer: ScriptBuffer) -> None:
    if words.take("MIP_LEVELS"):
        buffer.levels = words.natural("MIP_LEVELS", 1)
    elif words.take("SAMPLES"):
        buffer.samples = words.natural("SAMPLES", 1)
    elif words.following == "FILE":
        raise words.unsupported("FILE PNG")
    else:
        raise words.error(f"unknown word {words.following!r}.")


def _contents(words: Words, buffer: ScriptBuffer, count: int | None, following: Following) -> None:
    """Set the contents that the rest of a statement gives; of a count of None, as many as there are."""
    kind = buffer.type
    if (count or 0) * kind.stride > MOST_BYTES:
        raise words.unsupported(f"more than {MOST_BYTES} bytes in a buffer")
    total = (count or 0) * kind.count
    numbers: Sequence[int | float] = ()
    way = words.word("a word") if words.following else ""
    if way == "DATA":
        numbers = list(_data(words, following))
    elif way in _CONTENTS and count is None:
        raise words.error("SIZE is missing.")
    elif way == "FILL":
        numbers = [words.number("a value")] * total
    elif way == "SERIES_FROM":
        if kind.count > 1:
            raise words.error(f"SERIES_FROM is for scalars, not for {kind.name}.")
        first = words.number("the first value")
        words.expect("INC_BY")
        numbers = list(islice(itertools.count(first, words.number("the step")), total))
    elif way == "FILE" and words.take("TEXT"):
        lines = text_of(file_of(words), words).splitlines()
        numbers = [words.as_number(word) for line in lines for word in line.partition("#")[0].split()]
    elif way == "FILE" and words.take("BINARY"):
        _binary(words, buffer)
    elif way:
        raise words.unsupported(way)
    words.require_fitting(numbers, kind)
    if buffer.extent[0] and way in ("DATA", "FILE") and len(numbers) != total and buffer.data is None:
        raise words.error(f"{total} numbers are expected, not {len(numbers)}.")
    if buffer.data is None:
        buffer.data = kind.pack([*numbers, *[0] * (total - len(numbers))])
    if not buffer.data.size:
        raise words.error("the buffer is empty.")


def _binary(words: Words, buffer: ScriptBuffer) -> None:
    """Set the contents to those of a file, which also gives the size, as in Amber."""
    file = file_of(words)
    try:
        data = read_bytes(file)
    except OSError as error:
        raise words.error(f"the file cannot be read: {error}.") from error
    if len(data) % buffer.type.stride:
        raise words.error(f"{file} has {len(data)} bytes, and an element has {buffer.type.stride}.")
    buffer.data = np.frombuffer(data, np.uint8)


def _data(start: Words, following: Following) -> Iterator[int | float]:
    """Yield the numbers up to END, on this line and the next ones."""
    words: Words | None = start
    while words is not None:
        for word in words.rest():
            if word == "END":
                return
            yield words.as_number(word)
        words = following()
    raise start.error("END is missing.")


def file_of(words: Words) -> Path:
    """Take the path of a file beside the script."""
    return words.file.parent / words.path()


def text_of(file: Path, words: Words) -> str:
    """Return the text of a file that a statement names."""
    try:
        return read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise words.error(f"{file} cannot be read: {error}.") from error


def read_sampler(words: Words) -> Sampler:
    """Read the state of a sampler, after its name."""
    state: dict[str, Any] = {"max_lod": 1.0}
    address, compares, has_compare = ["repeat"] * 3, "never", False
    while words.following:
        option = words.word("an option")
        if option.startswith("ADDRESS_MODE_") and option[-1] in "UVW":
            mode = words.word("an address mode").replace("mirrored_clamp", "mirror_clamp")
            address["UVW".index(option[-1])] = mode
        elif option in ("MIN_LOD", "MAX_LOD"):
            state[option.lower()] = float(words.number(option))
        elif option == "COMPARE":
            has_compare = words.switch("COMPARE")
        elif option == "COMPARE_OP":
            compares = words.word("a comparison")
        elif option in ("NORMALIZED_COORDS", "UNNORMALIZED_COORDS"):
            state["unnormalized"] = option.startswith("UN")
        elif option in _SAMPLER:
            state[_SAMPLER[option]] = words.word("a value")
        else:
            raise words.error(f"unknown option {option!r} of a sampler.")
    if has_compare:
        state["compare"] = compares
    if state.get("unnormalized"):
        state |= {"min_lod": 0.0, "max_lod": 0.0}
    try:
        return Sampler(address=(address[0], address[1], address[2]), **state)
    except InvalidDispatch as error:
        raise words.error(str(error)) from None
