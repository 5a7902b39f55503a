"""Data as text of C: arrays of words, strings, feature structs."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vkgroup.conformance.arrays import Words
from vkgroup.device import vk
from vkgroup.device.query import feature_struct
from vkgroup.outputs.reproduction.standalone.requirements import Requirements
from vkgroup.spec.features import FeatureStruct, Version

WORDS_OF_A_LINE = 8

WORDS_OF_A_RUN = 8
"""An array with at least this many words for each run of equal ones is written as runs."""


@dataclass(frozen=True)
class Content:
    """The initial content of a buffer."""

    text: str  # the elements of the array in C
    elements: int  # number of these
    runs: int  # number of runs (length, word) in the array; 0 if it has all words


def content_of(words: Words) -> Content:
    """Return the content of a buffer as runs of equal words, if there are few, or as all words."""
    starts = np.flatnonzero(np.concatenate([[True], words[1:] != words[:-1]]))
    if len(words) >= WORDS_OF_A_RUN * len(starts):
        lengths = np.diff(np.append(starts, len(words)))
        pairs = np.column_stack([lengths.astype(np.uint32), words[starts]])
        lines = ",\n".join(f"    {length}, 0x{word:08x}" for length, word in pairs.tolist())
        return Content(lines, pairs.size, len(pairs))
    return Content(lines_of(words), len(words), 0)


def lines_of(words: Words) -> str:
    """Return words as lines of an initializer."""
    texts = [f"0x{word:08x}" for word in words.tolist()]
    rows = [texts[at : at + WORDS_OF_A_LINE] for at in range(0, len(texts), WORDS_OF_A_LINE)]
    return ",\n".join("    " + ", ".join(row) for row in rows)


def braces(values: Iterable[int | float]) -> str:
    """Return an initializer of words or doubles on one line."""
    return "{" + ", ".join(map(_number, values)) + "}"


def _number(value: int | float) -> str:
    if isinstance(value, int):
        return f"0x{value:x}"
    if math.isfinite(value):
        return repr(value)
    return "NAN" if math.isnan(value) else f"{'-' * (value < 0)}INFINITY"


def comment(lines: Sequence[str]) -> str:
    """Return a comment; text that would end it is changed."""
    safe = [re.sub(r"/\*|\*/", "* /", line).replace("\\", "/").rstrip() for line in lines]
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in safe), " */"])


def string(text: str) -> str:
    """Return a string literal."""
    return '"' + re.sub(r'["\\\n?]', " ", text) + '"'


def version(numbers: Version) -> str:
    """Return a version of Vulkan."""
    return f"VK_MAKE_VERSION({numbers[0]}, {numbers[1]}, 0)"


def features(needs: Requirements) -> str:
    """Return `struct features` and the functions that chain, check and enable its members."""
    named = {f"features_{number}": struct for number, struct in enumerate(needs.struct_features)}
    members = [f"core.features.{feature}" for feature in sorted(needs.core_features)]
    for name, struct in named.items():
        members += [f"{name}.{feature}" for feature in sorted(needs.struct_features[struct])]
    chain = ["core", *named]
    types = [_structure_type(struct) for struct in named.values()]
    lines = [*_declared(named.values()), "struct features {", "    VkPhysicalDeviceFeatures2 core;"]
    lines += [f"    {struct.name} {name};" for name, struct in named.items()]
    lines += ["};", "", "static void chain_features(struct features *features)", "{"]
    lines += ["    memset(features, 0, sizeof *features);"]
    lines += [
        f"    features->{name}.sType = {type_};"
        for name, type_ in zip(chain, ["VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2", *types], strict=True)
    ]
    pairs = itertools.pairwise(chain)
    lines += [f"    features->{name}.pNext = &features->{following};" for name, following in pairs]
    lines += ["}", "", "static const char *missing_feature(const struct features *features)", "{"]
    for member in members:
        lines += [f"    if (!features->{member})", f'        return "{member.rpartition(".")[2]}";']
    lines += ["    (void)features;"] * (not members)
    lines += ["    return NULL;", "}", "", "static void enable_features(struct features *features)", "{"]
    lines += [f"    features->{member} = VK_TRUE;" for member in members] or ["    (void)features;"]
    return "\n".join([*lines, "}"])


def _declared(structs: Iterable[FeatureStruct]) -> list[str]:
    """Return the declarations of structs that older headers lack, under names of their own."""
    lines = []
    for struct in structs:
        if struct.fields is not None:
            fields = " ".join(f"VkBool32 {name};" for name in feature_struct(struct).fields)
            lines += [
                f"/* Declared here because older headers lack {struct.name}. */",
                f"#define {struct.name} struct own_{struct.name}",
                f"{struct.name} {{ VkStructureType sType; void *pNext; {fields} }};",
            ]
    return lines


def _structure_type(struct: FeatureStruct) -> str:
    """Return the VkStructureType of a struct of features."""
    if struct.structure_type is not None:
        return f"(VkStructureType){struct.structure_type}"
    wanted = "VK_STRUCTURE_TYPE_" + struct.name[2:].upper()
    names: list[str] = list(vk.ffi.typeof("VkStructureType").relements)
    return next(name for name in names if name.replace("_", "") == wanted.replace("_", ""))
