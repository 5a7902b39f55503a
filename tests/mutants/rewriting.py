"""Rewriting of SPIR-V modules, one instruction at a time, to plant errors."""

from __future__ import annotations

import struct
from collections.abc import Callable

Words = list[int]
"""One instruction: opcode, then its operand words."""

Rewrite = Callable[[Words], list[Words]]
"""Instruction → instructions that replace it."""


def instructions(data: bytes) -> list[Words]:
    """Return a module's instructions, each as [opcode, operands…]."""
    words = struct.unpack(f"<{len(data) // 4}I", data)
    body, at = [], 5
    while at < len(words):
        count, opcode = words[at] >> 16, words[at] & 0xFFFF
        body.append([opcode, *words[at + 1 : at + count]])
        at += count
    return body


def assemble(header: bytes, body: list[Words]) -> bytes:
    """Return a module from its header and its instructions."""
    words: Words = []
    for opcode, *operands in body:
        words += [(len(operands) + 1) << 16 | opcode, *operands]
    return header + struct.pack(f"<{len(words)}I", *words)


def rewritten(data: bytes, rewrite: Rewrite) -> bytes:
    """Return a module with each instruction replaced by `rewrite`."""
    body = [new for old in instructions(data) for new in rewrite(old)]
    return assemble(data[:20], body)


def integer_constants(data: bytes) -> dict[int, int]:
    """Return value → id of the module's 32-bit unsigned constants."""
    body = instructions(data)
    unsigned = {i[1] for i in body if i[0] == 21 and i[2:4] == [32, 0]}
    return {i[3]: i[2] for i in body if i[0] == 43 and i[1] in unsigned}


def boolean_constant(data: bytes, value: bool) -> tuple[bytes, int]:
    """Return a module with a Boolean constant, and the id of the constant."""
    body = instructions(data)
    opcode = 41 if value else 42
    for instruction in body:
        if instruction[0] == opcode:
            return data, instruction[2]
    at = next(i for i, instruction in enumerate(body) if instruction[0] == 20)
    bound = struct.unpack_from("<I", data, 12)[0]
    body.insert(at + 1, [opcode, body[at][1], bound])
    header = data[:12] + struct.pack("<I", bound + 1) + data[16:20]
    return assemble(header, body), bound
