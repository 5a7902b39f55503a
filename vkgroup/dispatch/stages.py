"""What pipelines of several stages share: specialization, push constants, a required subgroup size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from vkgroup.dispatch.base_pipeline import Shader
from vkgroup.dispatch.blocks import pack_push
from vkgroup.errors import InvalidDispatch
from vkgroup.spirv import EntryPoint, Member, Module, PushConstants


def check_subgroup_size(size: Any) -> None:
    """Refuse what is no subgroup size, also where no stage would be asked for it."""
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
    if size is not None and not (whole and size > 0 and not size & (size - 1)):
        raise InvalidDispatch(f"A subgroup size is a power of two; {size!r} was given.")


def stage_shader(module: Module, stage: str, specialization: Mapping[int | str, Any] | None) -> Shader:
    """Check a module's stage, and give it those specialization constants that it has."""
    entry: EntryPoint = module.reflection.entry_point(None)
    if entry.stage != stage:
        raise InvalidDispatch(f"The entry point {entry.name!r} is a {entry.stage} shader; {stage} is needed.")
    constants = module.reflection.specialization_constants
    known = {constant.id for constant in constants} | {constant.name for constant in constants}
    own = {key: value for key, value in (specialization or {}).items() if key in known}
    return Shader(module, entry, own)


def check_specialization(modules: tuple[Module, ...], specialization: Mapping[int | str, Any] | None) -> None:
    """Refuse a value for a specialization constant that no stage has."""
    known = {
        key
        for module in modules
        for constant in module.reflection.specialization_constants
        for key in (constant.id, constant.name)
    }
    for key in specialization or {}:
        if key not in known:
            names = ", ".join(str(name) for name in sorted(known, key=str) if name != "") or "none"
            raise InvalidDispatch(f"No stage has a specialization constant {key!r}. There are: {names}.")


def merged_push_constants(shaders: tuple[Shader, ...]) -> tuple[PushConstants | None, str]:
    """Return a block with the members of all stages' blocks, which see the same bytes.

    Returns
    -------
    The block, None where no stage has one; and which members contradict each other, empty where none do.
    """
    declared = [shader.module.reflection.push_constants for shader in shaders]
    blocks = [block for block in declared if block is not None]
    if not blocks:
        return None, ""
    largest = max(blocks, key=lambda block: block.size)
    members: list[Member] = []
    conflict = ""
    for member in (member for block in blocks for member in block.members):
        other = next((entry for entry in members if _meet(entry, member)), None)
        if other is None:
            members.append(member)
        elif other != member:
            conflict = f"{other.name!r} of one stage and {member.name!r} of the other"
    offset = min(block.offset for block in blocks)
    return replace(largest, offset=offset, type=replace(largest.type, members=tuple(members))), conflict


def _meet(one: Member, other: Member) -> bool:
    """Whether two members have a name or bytes in common."""
    if one.name and one.name == other.name:
        return True
    first, second = sorted((one, other), key=lambda member: member.offset or 0)
    return (second.offset or 0) < (first.offset or 0) + (first.size or 1)


def pack_stages_push(push: PushConstants | None, conflict: str, value: Any) -> bytes:
    """Make the bytes of push constants that several stages read.

    Parameters
    ----------
    push, conflict : of `merged_push_constants`.
    value : as for `pack_push`.

    Raises
    ------
    InvalidDispatch
        Values by name where names contradict each other; else as `pack_push`.
    """
    if conflict and isinstance(value, Mapping):
        raise InvalidDispatch(
            f"The push constants {conflict} have a name or bytes in common,"
            " and are not the same: give all push constants as bytes."
        )
    return pack_push(push, value)
