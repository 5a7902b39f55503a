"""Values of specialization constants: given by id or name, checked, as bytes, and described in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch.blocks import checked_mapping, exact_numbers, stored_dtype, suggestion
from vkgroup.spirv import Module
from vkgroup.spirv.constants import SpecializationConstant


def pack_specialization(
    constants: tuple[SpecializationConstant, ...], values: Mapping[int | str, Any]
) -> tuple[dict[int, bool | int | float], dict[int, bytes]]:
    """Return the values of specialization constants, given by id or name, and their bytes, both by id.

    If several constants have an id and different defaults in the module, the result has a value for that id
    even if none is given: `SpecializationConstant.default`. A device would use each constant's own default.
    As in Vulkan (VkSpecializationMapEntry), an id that the module does not have has no effect.

    Raises InvalidDispatch: the module has no constant of a given name, a constant is given by its id and by
    its name, or a value does not fit its type.
    """
    plain: dict[int, bool | int | float] = {}
    packed: dict[int, bytes] = {}
    shared = {entry.id for entry in constants if entry.overridden_default is not None}
    wanted: dict[int | str, Any] = {
        entry.id: entry.default for entry in reversed(constants) if entry.id in shared
    }
    keys: dict[int, int | str] = {}
    for key, value in (wanted | dict(values)).items():
        constant = constant_of(key, constants)
        if constant is None:
            continue
        if key in values and keys.setdefault(constant.id, key) != key:
            raise InvalidDispatch(
                f"The specialization constant {constant.id} is given twice: as {keys[constant.id]!r} and as "
                f"{key!r}."
            )
        what = f"The specialization constant {constant.name or constant.id!r}"
        array = exact_numbers(value, stored_dtype(constant.type), what)
        if array.shape != ():
            raise InvalidDispatch(f"{what} is a scalar; {value!r} was given.")
        if constant.type.kind == "bool":
            array = array.astype(bool).astype(np.uint32)
        item = array.item()
        plain[constant.id] = bool(item) if constant.type.kind == "bool" else item
        packed[constant.id] = array.tobytes()
    return plain, packed


def constant_of(
    key: int | str, constants: Sequence[SpecializationConstant], subject: str = "The module has no"
) -> SpecializationConstant | None:
    """Return the constant with an id or a name; None for an id that no constant has.

    Raises InvalidDispatch: no constant has that name; the message begins with `subject`.
    """
    for entry in constants:
        if key in (entry.id, entry.name) and key != "":
            return entry
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= key <= _LARGEST_ID:
        return None
    named = {entry.id for entry in constants if entry.name}
    names = dict.fromkeys(
        entry.name or str(entry.id) for entry in constants if entry.name or entry.id not in named
    )
    raise InvalidDispatch(f"{subject} specialization constant {key!r}.{suggestion(key, names)}")


_LARGEST_ID = (1 << 32) - 1
"""The largest id of a specialization constant (VkSpecializationMapEntry::constantID)."""


def notes_of(modules: Sequence[Module], given: Iterable[int | str]) -> Iterator[str]:
    """Yield a sentence for each given id that no module has, and for each default chosen among several.

    `given`: ids and names that have a value.
    """
    keys = list(given)
    constants = [entry for module in modules for entry in module.reflection.specialization_constants]
    known = {entry.id for entry in constants}
    for key in keys:
        if not isinstance(key, str) and key not in known:
            there = ", ".join(map(str, sorted(known))) or "none"
            yield f"specialization id {key} is ignored: the shader does not have it. It has: {there}."
    for module in modules:
        yield from _chosen_defaults(module, keys)


def _chosen_defaults(module: Module, given: list[int | str]) -> Iterator[str]:
    """Yield a sentence for each id without a given value whose constants have different defaults."""
    constants = module.reflection.specialization_constants
    for number in sorted({entry.id for entry in constants if entry.overridden_default is not None}):
        sharing = sorted(
            (entry for entry in constants if entry.id == number),
            key=lambda entry: entry.overridden_default is not None,
        )
        if {number, *(entry.name for entry in sharing)} & set(given):
            continue
        defaults = {
            _name(entry, module): entry.default
            if entry.overridden_default is None
            else entry.overridden_default
            for entry in sharing
        }
        listed = ", ".join(f"{name} {value}" for name, value in defaults.items())
        yield (
            f"specialization id {number} has several defaults ({listed}): all constants with this id get"
            f" {sharing[0].default}. --spec {number}=V sets another value."
        )


def _name(constant: SpecializationConstant, module: Module) -> str:
    """Return a constant's name in messages; without a name, its role."""
    sizes = [entry.local_size for entry in module.reflection.entry_points if entry.local_size is not None]
    if constant.name:
        return constant.name
    if any(part.specialization == constant for size in sizes for part in size.constants):
        return "local size"
    return "unnamed constant"


def key_of_values(specialization: Mapping[int | str, Any] | None) -> tuple[Any, ...]:
    """Return the values of specialization constants as part of a key; `InvalidDispatch` for other types.

    The dtype is part of it: the bytes of np.float32(1) are those of np.uint32(0x3F800000) too.
    """
    if specialization is None:
        return ()
    given = checked_mapping(specialization, "specialization")
    arrays = [(name, np.asarray(value)) for name, value in given.items()]
    return tuple((name, array.dtype, array.tobytes()) for name, array in arrays)
