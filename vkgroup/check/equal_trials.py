"""Trials with values that the search for another shader chose, and code of that shader that did not run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from vkgroup.base.errors import InvalidDispatch, InvalidInput, Unsupported
from vkgroup.check.checking import prepare
from vkgroup.check.fields import Field, fields_of
from vkgroup.check.influence import UNKNOWN, Source, influence_of
from vkgroup.check.inputs import CONTENTS, SPECIALIZED, NumberKey, Numbers
from vkgroup.check.interfaces import COMPARED
from vkgroup.check.members import by_place
from vkgroup.check.request import CheckRequest, values_of
from vkgroup.check.search import TrialSearch
from vkgroup.check.sites import Sites
from vkgroup.check.trial_set import TrialSet, identities
from vkgroup.check.trials import CheckTrial
from vkgroup.spirv import Module, StructType

Groups = tuple[int, int, int]
"""Numbers of workgroups."""

Place = tuple[int, int] | None
"""Set and binding; None for the push constants."""


def trials_by_other(
    first: CheckRequest, second: CheckRequest, search: TrialSearch, groups: Groups | None
) -> list[CheckTrial]:
    """Return trials of the first shader, whose search is given, with values chosen for the second one.

    Only trials without errors; none if the second shader cannot be given the inputs of the first, as a member
    that is a part of a vector there.
    """
    request = _with_inputs_of(first, second)
    try:
        prepared = prepare(request, groups) if request is not None else None
    except (InvalidInput, InvalidDispatch, Unsupported):
        prepared = None
    if prepared is None:
        return []
    ours, theirs = _labels(first.module), _labels(second.module)
    keys = {_identity(number.key, ours): number.key for number in search.numbers}
    trials = []
    for trial in (prepared.trial, *prepared.search.supplements()):
        chosen: Numbers = {
            keys[number]: value
            for key, value in trial.numbers.items()
            if (number := _identity(key, theirs)) in keys
        }
        tried = search.try_({**search.best.numbers, **chosen})
        if tried is not search.best and search.is_consistent(tried):
            trials.append(tried)
    return trials


def _blocks(module: Module) -> dict[Place, list[Field]]:
    """Return the numbers of each block; those of runtime arrays up to `COMPARED` bytes."""
    push = module.reflection.push_constants
    blocks: dict[Place, Any] = {entry.place: entry.type for entry in module.reflection.bindings}
    if push is not None:
        blocks[None] = push.type
    return {
        place: list(fields_of(block, COMPARED))
        for place, block in blocks.items()
        if isinstance(block, StructType)
    }


def _labels(module: Module) -> dict[tuple[Place, str], int]:
    """Return the offset of each number by its name."""
    return {
        (place, field.label(flat)): int(offset)
        for place, fields in _blocks(module).items()
        for field in fields
        for flat, offset in enumerate(field.offsets.reshape(-1))
    }


def _identity(key: NumberKey, labels: Mapping[tuple[Place, str], int]) -> tuple[object, object]:
    """Return what a number is in every module with the same interface, whatever its name."""
    place, name = key
    if place is not None and place[0] == SPECIALIZED:
        return place
    return place, CONTENTS if name.endswith(CONTENTS) else labels.get(key, name)


def _with_inputs_of(first: CheckRequest, second: CheckRequest) -> CheckRequest | None:
    """Return the second shader's request with the first one's inputs; None if one cannot be given to it."""
    names = _names(first.module, second.module)
    known = {entry.id for entry in second.module.reflection.specialization_constants}
    ids: dict[int | str, int | str] = {entry.name: entry.id for entry in values_of(first.module)}
    constants = {ids.get(key, key): value for key, value in first.specialization.items()}
    inputs: dict[Any, Any] = {}
    for place, value in [*by_place(first.module, first.inputs or {}).items(), (None, first.push or {})]:
        if isinstance(value, Mapping):
            if any((place, name) not in names for name in value):
                return None
            value = {names[place, name]: part for name, part in value.items()}
        inputs[place] = value
    push = inputs.pop(None)
    return replace(
        first,
        shader=second.module,
        entry_point=second.entry_point,
        name=second.title,
        inputs=inputs,
        push=None if first.push is None else push,
        specialization={key: value for key, value in constants.items() if key in known},
    )


def _names(first: Module, second: Module) -> dict[tuple[Place, str], str]:
    """Return the second shader's name of what has a name in the first: the same numbers of a block."""
    ours, theirs = (
        {
            (place, tuple(field.offsets.reshape(-1).tolist())): field.path
            for place, fields in _blocks(module).items()
            for field in fields
        }
        for module in (first, second)
    )
    return {(what[0], path): theirs[what] for what, path in ours.items() if what in theirs}


def missing_in_second(
    request: CheckRequest, search: TrialSet
) -> Callable[[Mapping[int, int]], frozenset[int]]:
    """Return `TrialSet.missing_in` of another shader, whose inputs are those of the first one's trials."""
    influence = influence_of(request.module)
    first = {what: identifier for identifier, what in identities(search.module, search.influence).items()}
    own = identities(request.module, influence)

    def is_fixed(source: Source) -> bool:
        variable, member = source
        if source == UNKNOWN or variable not in own:
            return search.is_fixed(UNKNOWN)
        if own[variable] in first:
            return search.is_fixed((first[own[variable]], member))
        # A built-in variable or a constant that only this shader has.
        return search.is_fixed_here(influence.built_ins.get(variable, ""))

    sites = Sites(request.module, request.entry)
    return lambda executed: sites.missing(executed, is_fixed)
