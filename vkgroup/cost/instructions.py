"""Instructions that implement subgroup operations, shared memory and barriers, in each driver's assembly.

Sources: AMD, "RDNA3 Instruction Set Architecture" (2023), "Data Parallel Processing (DPP)" and the lists of
instructions; NVIDIA, "CUDA Binary Utilities", "Instruction Set Reference".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

SUBGROUP, SHARED, BARRIER = "subgroup", "shared memory", "barrier"


@dataclass(frozen=True)
class InstructionKind:
    """A kind of instructions: what they implement, and an expression that the whole instruction matches."""

    name: str
    implements: str  # SUBGROUP, SHARED or BARRIER
    pattern: re.Pattern[str]


def _kind(name: str, implements: str, pattern: str) -> InstructionKind:
    return InstructionKind(name, implements, re.compile(pattern))


_AMD = (
    # Order counts: the first that matches is the instruction's kind.
    _kind("DPP", SUBGROUP, r"v_\w+_dpp8?\b|.*\b(quad_perm|row_\w+|wave_\w+|dpp8):?"),
    _kind("permlane", SUBGROUP, r"v_permlane\w*"),
    _kind("readlane", SUBGROUP, r"v_(readlane|readfirstlane|writelane)\w*"),
    _kind("bpermute", SUBGROUP, r"ds_b?permute\w*"),
    _kind("swizzle", SUBGROUP, r"ds_swizzle\w*"),
    _kind("mbcnt", SUBGROUP, r"v_mbcnt\w*"),
    # All lanes become active, for a reduction or a scan.
    _kind("whole wave", SUBGROUP, r"s_or_saveexec_b(32|64) [^,]+, -1"),
    _kind("LDS", SHARED, r"ds_\w+"),
    _kind("barrier", BARRIER, r"s_barrier\w*"),
)

_NVIDIA = (
    _kind("shfl", SUBGROUP, r"shfl\b.*"),
    _kind("vote", SUBGROUP, r"vote\b.*"),
    _kind("redux", SUBGROUP, r"redux\b.*"),
    _kind("match", SUBGROUP, r"match\b.*"),
    _kind("shared", SHARED, r"(ld|st|atom|red)\.shared.*|(lds|sts|atoms)\b.*"),
    _kind("barrier", BARRIER, r"bar\b.*"),
)

KINDS = {"radv": _AMD, "NVK": _NVIDIA}
"""Kinds by the name of the driver; drivers without assembly are absent."""


def kinds_of(driver_name: str, assembly: str) -> dict[str, int]:
    """Return how many instructions of each kind an assembly has; empty if the driver is unknown."""
    kinds = KINDS.get(driver_name, ())
    counts = Counter[str]()
    for instruction in instructions(assembly):
        kind = next((kind for kind in kinds if kind.pattern.match(instruction)), None)
        if kind is not None:
            counts[kind.name] += 1
    return {kind.name: counts[kind.name] for kind in kinds if counts[kind.name]}


def count_of(driver_name: str, counts: dict[str, int], implements: str = SUBGROUP) -> int:
    """Return the number of instructions that implement subgroup operations, or others."""
    return sum(
        counts.get(kind.name, 0) for kind in KINDS.get(driver_name, ()) if kind.implements == implements
    )


_LABEL = re.compile(r"^\s*(BB\d+:|block\b.*|\}.*)?\s*$")
_NVIDIA_START = re.compile(r"^(?:@!?\w+\s+)?(?:[\w. ,]*=\s*)?")


def instructions(assembly: str) -> Iterator[str]:
    """Yield the instructions of an assembly, without labels, comments, predicates and destinations."""
    for line in assembly.splitlines():
        code = re.split(r"\s//|\s;", line, maxsplit=1)[0].strip()
        if code and not _LABEL.match(code):
            yield _NVIDIA_START.sub("", code, count=1)
