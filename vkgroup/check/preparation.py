"""Preparation of a check: the dispatch with its given and generated inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from vkgroup.base.errors import InvalidInput, Unsupported
from vkgroup.base.phases import phase
from vkgroup.check.findings import RunParameters
from vkgroup.check.flow import used_axes, uses_atomic_results
from vkgroup.check.generation import make_inputs
from vkgroup.check.host import (
    default_constants,
    generated_size,
    undeclared_size,
    unset_constants,
)
from vkgroup.check.request import CheckRequest
from vkgroup.check.runs import CheckedDispatch
from vkgroup.check.search import TrialSearch
from vkgroup.check.trial_set import differing
from vkgroup.check.trials import CheckTrial, Trier
from vkgroup.device.limits import local_size_problems
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.dispatch.stages import notes_of, pack_specialization
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.spirv import EntryPoint

MAX_INVOCATIONS = 1 << 22
"""Maximum number of invocations of a dispatch, which limits time and memory."""


@dataclass(frozen=True)
class PreparedShader:
    """A shader that is ready to be checked."""

    dispatch: CheckedDispatch  # the program with its inputs
    search: TrialSearch  # the trials of other inputs
    trial: CheckTrial  # the trial whose inputs were chosen
    specialization: dict[int | str, Any]  # given and generated specialization constants, by id or name
    values: dict[int, Any]  # the same by id
    notes: list[str]  # remarks on the given options and on values that were chosen


def prepare(request: CheckRequest) -> PreparedShader:
    """Return a compute shader with all its inputs.

    Raises InvalidInput or InvalidDispatch if an input is invalid, Unsupported if one cannot be generated.
    """
    module, entry, given = request.module, request.entry, request.specialization
    sizes = request.run_sizes
    notes = list(notes_of([module], given))
    generated = generated_size(entry, module, given)
    constants = module.reflection.specialization_constants
    specialization = {**generated, **given}
    values, _ = pack_specialization(constants, specialization)
    with phase("preparing the shader for the reference device"):
        program = ExecutableShader(module, request.entry_point, values)
    _require_limits(entry, values)
    request.host.require_size(sizes, program.local_size)
    chosen = groups_of(request.groups, program)
    make = partial(make_inputs, request, chosen)
    with phase("generating the inputs"):
        generated_inputs = make(program.module, program.local_size)
    first = CheckedDispatch(
        program, chosen, generated_inputs, request.seed, request.step_limit, request.timeout
    )
    trier = Trier(
        first,
        make,
        lambda changed: ExecutableShader(module, request.entry_point, {**values, **changed}),
        tuple(unset_constants(module, specialization, generated)),
        tuple(default_constants(entry, module, specialization)),
    )
    with phase("trying values of the inputs on the reference device"):
        search = TrialSearch(program.module, trier)
        trial = search.run()
    for size in {min(sizes), max(sizes)} - {32} if sizes else ():
        try:
            trial = trier.fit(trial, RunParameters(size))
        except Unsupported:  # a size without quads
            continue
    changed = _changed_constants(search.first, trial)
    specialization = {**specialization, **{number: value for number, (_, value) in changed.items()}}
    notes += undeclared_size(entry, module, given, {key: specialization[key] for key in generated})
    for number, (name, value) in changed.items():
        if number not in generated:
            notes.append(f"{name} (id {number}) = {value} was chosen: its default is 0.")
    values, _ = pack_specialization(constants, specialization)
    return PreparedShader(trial.dispatch, search, trial, specialization, values, notes)


def _require_limits(entry: EntryPoint, values: Mapping[int, Any]) -> None:
    """Raise Unsupported if the local size is over the limits of the reference device."""
    over = local_size_problems(entry, values, capabilities_of())
    if not over:
        return
    text = f"The reference device does not run this local size; it would need {', '.join(over)}."
    if entry.local_size is not None and entry.local_size.is_specializable:
        text += " Give its specialization constants with --spec."
    raise Unsupported(text, over)


def _changed_constants(first: CheckTrial, chosen: CheckTrial) -> dict[int, tuple[str, int]]:
    """Return name and value of the specialization constants that the search has set, by id."""
    return {
        identifier: (number.name, value)
        for number, value in differing(first, chosen)
        if (identifier := number.constant_id) is not None
    }


def groups_of(given: Sequence[int] | None, program: ExecutableShader) -> tuple[int, int, int]:
    """Return the workgroup counts: the given ones, else several in each dimension that the shader uses."""
    if given is not None:
        if not 1 <= len(given) <= 3 or min(given) < 1:
            raise InvalidInput(f"groups must be one to three positive numbers, not {tuple(given)}")
        x, y, z = (int(number) for number in (*given, 1, 1)[:3])
        invocations = x * y * z * math.prod(program.local_size)
        if invocations > MAX_INVOCATIONS:
            raise InvalidInput(
                f"The dispatch has {invocations} invocations; check supports at most {MAX_INVOCATIONS}."
                " Give fewer groups."
            )
        return x, y, z
    used = used_axes(program.module)
    if not any(used) and not uses_atomic_results(program.module, frozenset(program.bindings)):
        # All workgroups write the same values: one is enough.
        return 1, 1, 1
    if sum(used) > 1:
        x, y, z = (2 if axis else 1 for axis in used)
        return x, y, z
    return (1, 4, 1) if used[1] else (1, 1, 4) if used[2] else (4, 1, 1)
