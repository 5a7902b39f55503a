"""Inputs for fuzzing: what Hypothesis draws from the repository's own files, and damages.

Every strategy gives bytes. A damaged input is a file of the corpus and a list of edits; each edit is three
numbers, so that the same draw makes the same damage whatever the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

Edit = tuple[int, int, int]
Inputs = st.SearchStrategy[bytes]

_FAR = 1 << 20

edits = st.lists(
    st.tuples(st.integers(0, 255), st.integers(0, _FAR), st.integers(0, 2**32 - 1)), min_size=1, max_size=8
)
"""A change of a file: the kind of damage, the position (modulo the length), and a number as parameter."""

_TOKENS = re.compile(rb"[A-Za-z_]\w*|[0-9.]+[a-zA-Z0-9]*|\s+|.", re.DOTALL)
_ODD_TOKENS = (
    b"0", b"-1", b"1u", b"4294967295u", b"2147483648", b"1e39", b"0.0", b"(1/0)", b"0x7fffffff",
    b"99999999999", b"{", b"}", b"(", b")", b"[", b"]", b";", b",", b"#", b"##", b"\\\n", b"/*", b"//",
    b"\x00", b"\xff", b"\xc3", b"void", b"float", b"uint", b"double", b"int64_t", b"f16vec3", b"mat4",
    b"sampler2D", b"struct S { S s; };", b"shared", b"buffer", b"uniform", b"while (true) {}",
    b"for (;;) {}", b"if (", b"return", b"discard", b"layout(local_size_x = 0) in;",
    b"layout(binding = 4294967295)", b"layout(constant_id = 0)", b"subgroupAdd", b"subgroupShuffle",
    b"gl_SubgroupSize", b"gl_SubgroupInvocationID", b"barrier()", b"#version 1\n",
    b"#include \"/dev/zero\"\n", b"#define A A A\n", b"#line -1\n", b"#extension all : require\n",
    b"[1000000000]",
)  # fmt: skip
_ODD_WORDS = (0, 1, 2, 3, 4, 32, 64, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**400, 1e308, float("nan"), float("inf"), "", "x", "\ud800", "\x00",
    "../..", "1e5", [], {}, [[]], {"": {}}, [None], {"name": 1}, "x" * 70_000, -(2**63),
)  # fmt: skip
_DEEP = b"[" * 200_000


def damaged(corpus: Sequence[bytes], damage: Callable[[bytes, list[Edit], bytes], bytes]) -> Inputs:
    """Return files of a corpus with edits; an edit may take material from another file."""
    files = st.sampled_from(list(corpus))
    return st.builds(damage, files, edits, files)


def in_bytes(data: bytes, changes: list[Edit], other: bytes) -> bytes:
    """Change, remove, repeat, insert and cut bytes."""
    found = bytearray(data)
    for kind, place, number in changes:
        at = place % (len(found) + 1)
        length = number % 17 + 1
        match kind % 7:
            case 0:
                found[at : at + 1] = bytes([number & 0xFF])
            case 1:
                del found[at : at + length]
            case 2:
                found[at:at] = found[at : at + length]
            case 3:
                found[at:at] = number.to_bytes(4, "little")
            case 4:
                del found[at:]
            case 5:
                start = number % (len(other) + 1)
                found[at:at] = other[start : start + 64]
            case _:
                found[at : at + 1] = bytes([found[at] ^ 1 << number % 8]) if at < len(found) else b""
    return bytes(found)


def in_words(data: bytes, changes: list[Edit], other: bytes) -> bytes:
    """Change words of a SPIR-V module, and remove, repeat, move and replace whole instructions."""
    words = np.frombuffer(data, "<u4").tolist()
    donor = _instructions(np.frombuffer(other, "<u4").tolist())
    for kind, place, number in changes:
        parts = _instructions(words)
        at = place % len(parts)
        match kind % 9:
            case 0:
                words[place % len(words)] = number
                continue
            case 1:
                words[place % len(words)] = _ODD_WORDS[number % len(_ODD_WORDS)]
                continue
            case 2:
                words[place % len(words)] = number % (words[3] + 2) if len(words) > 3 else number
                continue
            case 3:
                del parts[at]
            case 4:
                parts.insert(number % (len(parts) + 1), parts[at])
            case 5:
                parts.insert(number % len(parts), parts.pop(at))
            case 6:
                parts[at] = donor[number % len(donor)]
            case 7 if parts[at]:
                # Another opcode of the same length.
                parts[at] = [parts[at][0] & ~0xFFFF | number % 500, *parts[at][1:]]
            case _ if parts[at]:
                # Another operand of the same instruction.
                parts[at] = list(parts[at])
                parts[at][number % len(parts[at])] = place % (words[3] + 2) if len(words) > 3 else 0
        words = [*words[:5], *(word for part in parts for word in part)]
    return np.array(words, np.uint64).astype("<u4").tobytes()


def _instructions(words: list[int]) -> list[list[int]]:
    """Split a module after its header into instructions by their lengths; never empty."""
    starts, position = [], 5
    while position < len(words):
        starts.append(position)
        position += max(1, words[position] >> 16)
    return [words[a:b] for a, b in pairwise([*starts, len(words)])] or [[]]


def in_tokens(data: bytes, changes: list[Edit], other: bytes) -> bytes:
    """Remove, repeat, exchange, replace and nest tokens of a source."""
    tokens = _TOKENS.findall(data)
    material = _TOKENS.findall(other) or [b""]
    for kind, place, number in changes:
        at = place % (len(tokens) + 1)
        match kind % 8:
            case 0:
                tokens[at : at + 1 + number % 6] = []
            case 1:
                tokens.insert(at, _ODD_TOKENS[number % len(_ODD_TOKENS)])
            case 2:
                tokens[at : at + 1] = [_ODD_TOKENS[number % len(_ODD_TOKENS)]]
            case 3:
                tokens[at : at + 1] = [material[number % len(material)]]
            case 4:
                start = number % len(material)
                tokens[at:at] = material[start : start + 24]
            case 5:
                tokens[at : at + 4] = tokens[at : at + 4] * (2 + number % 30)
            case 6 if at < len(tokens):
                tokens[at], tokens[-1] = tokens[number % len(tokens)], tokens[at]
            case _ if at < len(tokens):
                tokens[at] = b"(" * (number % 600) + tokens[at] + b")" * (number % 600)
    return b"".join(tokens)


def in_json(data: bytes, changes: list[Edit], other: bytes) -> bytes:
    """Put odd values, of other types, in places of a JSON text; then, at times, damage the text itself."""
    try:
        value = json.loads(data)
    except ValueError:
        return in_bytes(data, changes, other)
    for kind, place, number in changes:
        if kind % 11 == 10:
            text = json.dumps(value, allow_nan=True).encode()
            return _DEEP if number % 4 == 0 else in_bytes(text, changes, other)
        value = _changed(value, kind, place, deepcopy(_ODD_VALUES[number % len(_ODD_VALUES)]))
    return json.dumps(value, allow_nan=True).encode()


def _changed(value: Any, kind: int, place: int, odd: Any) -> Any:
    """Replace, remove or add one entry; `place` says how to come to it."""
    if not isinstance(value, dict | list) or not value:
        return odd
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    place, chosen = divmod(place, len(keys))
    key = keys[chosen]
    if kind % 3 and isinstance(value[key], dict | list) and value[key]:
        value[key] = _changed(value[key], kind, place, odd)
    elif kind % 5 == 0:
        del value[key]
    else:
        value[key] = odd
    return value


def in_json_lines(data: bytes, changes: list[Edit], other: bytes) -> bytes:
    """Damage lines of JSON, the order of lines, or the text."""
    lines = data.splitlines(keepends=True)
    kind, place, number = changes[0]
    at = place % len(lines)
    match kind % 4:
        case 0:
            return in_bytes(data, changes, other)
        case 1:
            lines[at : at + 1] = lines[at : at + 1] * (number % 3)
        case 2:
            lines.insert(at, b"\n" if number % 2 else b"\r\n")
        case _:
            lines[at] = in_json(lines[at], changes, other) + b"\n"
    return b"".join(lines)


def random_words() -> Inputs:
    """Return words behind a right header: SPIR-V of no sense."""
    header = st.tuples(st.sampled_from((0x10000, 0x10300, 0x10600)), st.integers(1, 64))
    word = st.one_of(
        st.integers(0, 2**32 - 1), st.sampled_from(_ODD_WORDS), _INSTRUCTION_HEADS, st.integers(0, 64)
    )
    return st.builds(_module, header, st.lists(word, max_size=40))


_INSTRUCTION_HEADS = st.builds(
    lambda length, opcode: length << 16 | opcode, st.integers(1, 7), st.integers(0, 500)
)


def _module(header: tuple[int, int], words: list[int]) -> bytes:
    version, bound = header
    return np.array([0x07230203, version, 0, bound, 0, *words], "<u4").tobytes()


def random_bytes(most: int = 300) -> Inputs:
    """Return bytes without any form."""
    return st.binary(max_size=most)
