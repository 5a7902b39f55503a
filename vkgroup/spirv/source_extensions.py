"""Source extensions: the language extensions that a module names in `OpSourceExtension`."""

from __future__ import annotations

import numpy as np

from vkgroup.errors import InvalidModule
from vkgroup.spirv.binary import HEADER_WORDS
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.module import Module
from vkgroup.spirv.words import BEFORE_NAMES, instruction, literal


def source_extensions(module: Module) -> frozenset[str]:
    """Return the names, such as ``"GL_KHR_shader_subgroup_ballot"``.

    Raises
    ------
    InvalidModule
        A name has no end.
    """
    starts = module.instruction_starts
    first = module.words[starts]
    chosen = np.flatnonzero(first & 0xFFFF == grammar().opcodes["OpSourceExtension"])
    names = set()
    for start, length in zip(starts[chosen].tolist(), (first[chosen] >> 16).tolist(), strict=True):
        raw, end, _ = module.words[start + 1 : start + length].tobytes().partition(b"\0")
        if not end:
            raise InvalidModule(f"a string without end at word {start}")
        names.add(raw.decode("utf-8", "replace"))
    return frozenset(names)


def add_source_extension(module: Module, name: str) -> Module:
    """Return `module` with one more `OpSourceExtension`, after the others."""
    codes = grammar().opcodes
    opcodes = module.words[module.instruction_starts] & 0xFFFF
    before = np.isin(opcodes, [codes[known] for known in BEFORE_NAMES])
    last = int(np.flatnonzero(before)[-1]) + 1 if before.any() else 0
    ends = [*module.instruction_starts.tolist(), len(module.words)]
    end = ends[last] if before.any() else HEADER_WORDS
    added = instruction(codes["OpSourceExtension"], literal(name.encode()))
    words = np.concatenate([module.words[:end], added, module.words[end:]])
    return Module.from_bytes(words.astype("<u4").tobytes())
