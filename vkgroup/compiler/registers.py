"""Binding numbers of HLSL's registers: classes b, t, s and u, which Vulkan's bindings do not distinguish."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from vkgroup.base.errors import CompileError
from vkgroup.spirv import Module, grammar
from vkgroup.spirv.editor import Editor, Words

CLASSES = ("b", "t", "s", "u")
"""Classes of registers: constant buffers, read-only resources, samplers, and read-write resources."""

Shifts = tuple[tuple[str, int], ...]
"""What is added to the register numbers of each class, in the order of `CLASSES`."""

_BINDING, _SET, _NON_WRITABLE = 33, 34, 24  # Decoration (SPIR-V 3.20)
_BLOCK = 2
_STORAGE_IMAGE = 2  # Sampled of OpTypeImage: used without a sampler

_EXPLICIT = re.compile(r"\bvk\s*::\s*binding\b")


def shifts_of(shifts: Mapping[str, Any] | None) -> Shifts:
    """Check and normalize shifts by class.

    Raises CompileError: a class is unknown, or a shift is not a number of bindings.
    """
    for name, shift in (shifts or {}).items():
        if name not in CLASSES:
            raise CompileError(f"{name!r} is not a class of registers; choose one of: {', '.join(CLASSES)}")
        if not isinstance(shift, int) or isinstance(shift, bool) or not 0 <= shift < 2**16:
            raise CompileError(f"the shift of {name} must be a whole number from 0 to 65535, not {shift!r}")
    return tuple((name, int(shifts[name])) for name in CLASSES if shifts and name in shifts)


def shifted(module: Module, source: str, shifts: Shifts) -> Module:
    """Return a module with the shifts added to the bindings of each class.

    Without shifts, those are chosen if resources of two classes have one binding: the classes then follow
    each other in the order of `CLASSES`. A source with ``[[vk::binding]]`` keeps its bindings.
    """
    resources = _resources(module)
    chosen = dict(shifts) or ({} if _EXPLICIT.search(source) else _automatic(list(resources.values())))
    if not chosen:
        return module

    def decorate(_: Editor, words: Words) -> list[Words]:
        if words[2] != _BINDING or words[1] not in resources:
            return [words]
        return [[*words[:3], words[3] + chosen.get(resources[words[1]][0], 0)]]

    return Editor(module).rewrite({"OpDecorate": decorate})


def _automatic(resources: Sequence[tuple[str, int, int]]) -> dict[str, int]:
    """Return shifts with which no two classes have one binding; none if that is so without them."""
    places: dict[tuple[int, int], set[str]] = {}
    for name, group, binding in resources:
        places.setdefault((group, binding), set()).add(name)
    if all(len(names) == 1 for names in places.values()):
        return {}
    shifts, following = {}, 0
    for name in CLASSES:
        numbers = [binding for other, _, binding in resources if other == name]
        if numbers:
            shifts[name] = following
            following += max(numbers) + 1
    return shifts


def _resources(module: Module) -> dict[int, tuple[str, int, int]]:
    """Return class, set and binding of each resource by the id of its variable."""
    decorations: dict[int, dict[int, int]] = {}
    read_only: set[int] = set()
    for instruction in module.instructions:
        words = instruction.operands
        if instruction.name == "OpDecorate":
            decorations.setdefault(words[0], {})[words[1]] = words[2] if len(words) > 2 else 0
        elif instruction.name == "OpMemberDecorate" and words[2] == _NON_WRITABLE:
            read_only.add(words[0])
    editor, resources = Editor(module), {}
    for variable, known in decorations.items():
        if _BINDING in known:
            name = _class_of(editor, variable, read_only, decorations)
            resources[variable] = (name, known.get(_SET, 0), known[_BINDING])
    return resources


def _class_of(
    editor: Editor, variable: int, read_only: set[int], decorations: Mapping[int, Mapping[int, int]]
) -> str:
    """Return the class of registers that HLSL uses for a resource."""
    kinds = grammar().enumeration("StorageClass")
    pointer = editor.definition(editor.type_of[variable])[1]
    storage, type_ = kinds[pointer[2]], pointer[3]
    name, words = editor.definition(type_)
    while name in ("OpTypeArray", "OpTypeRuntimeArray"):
        type_ = words[2]
        name, words = editor.definition(type_)
    if name == "OpTypeSampler":
        return "s"
    if name == "OpTypeImage":
        return "u" if words[7] == _STORAGE_IMAGE else "t"
    if name == "OpTypeStruct":
        if storage == "Uniform" and _BLOCK in decorations.get(type_, {}):
            return "b"
        return "t" if type_ in read_only or _NON_WRITABLE in decorations.get(variable, {}) else "u"
    return "t"
