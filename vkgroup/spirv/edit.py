"""Changes to whole modules that need no understanding of what they compute."""

from __future__ import annotations

import numpy as np

from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.module import Module


def rename_entry_point(module: Module, name: str) -> Module:
    """Return `module` with every entry point called `name`."""
    code = grammar().opcodes["OpEntryPoint"]
    words = module.words
    raw = name.encode() + b"\0"
    literal = np.frombuffer(raw + bytes(-len(raw) % 4), "<u4")
    parts, copied = [], 0
    for start in module.instruction_starts[words[module.instruction_starts] & 0xFFFF == code].tolist():
        length = int(words[start]) >> 16
        instruction = words[start : start + length]
        # The old name ends with the first word of which a byte is zero.
        text = instruction[3:].view(np.uint8).tobytes()
        rest = instruction[3 + text.find(b"\0") // 4 + 1 :]
        first = np.array([(3 + len(literal) + len(rest)) << 16 | code], "<u4")
        parts += [words[copied:start], first, instruction[1:3], literal, rest]
        copied = start + length
    return Module.from_bytes(np.concatenate([*parts, words[copied:]]).astype("<u4").tobytes())
