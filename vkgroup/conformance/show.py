"""Description of a case: what it tests, requirements, rule, expectation, inputs and shaders; needs no device.

The case is judged on a null device, which records the shaders and the resources of each command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidInput, VkgroupError
from vkgroup.conformance.comparison import Expected
from vkgroup.conformance.evidence import text_of
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import case_named, family_of, file_of, similar_names
from vkgroup.conformance.family import AnyCase, Family, TableCase
from vkgroup.conformance.instances import Instances, pack
from vkgroup.conformance.intrinsics import EXAMPLE
from vkgroup.conformance.khronos import refuse
from vkgroup.conformance.languages import LANGUAGES
from vkgroup.conformance.null_device import NullDevice, NullWork, null_capabilities
from vkgroup.conformance.patterns import WORKGROUPS
from vkgroup.conformance.rules import rule_of_case
from vkgroup.conformance.subgroup.cases import Case
from vkgroup.conformance.subgroup.expectation import JudgedLanes, expected_of, results_of
from vkgroup.conformance.subgroup.shader import BatchEntry, BatchProgram
from vkgroup.device import Capabilities, SizeControl, Subgroup
from vkgroup.dispatch.bindings import ArrayBuffer, Resource
from vkgroup.dispatch.commands import Command, DispatchCommand, TraceCommand
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.reference.buffer import ReferenceBuffer
from vkgroup.dispatch.slots import Slot
from vkgroup.spec.limits import SUBGROUP_SIZES
from vkgroup.spirv import Module

_SIZES = (32, *(size for size in SUBGROUP_SIZES if size != 32))
"""Subgroup sizes of the null device; a case is shown with the first that it supports."""

_ENDS = 8
"""Number of elements of a long array that are shown at its beginning; as many are shown at its end."""

_NAMES = 5
"""Maximum number of similar names in the error for an unknown name."""

_LINES = 3
"""Maximum number of lines of the failure on the null device that are shown."""


@dataclass
class _Recording:
    """The shaders and the commands of a case, each once."""

    shaders: dict[tuple[str, str, str], None] = field(default_factory=dict)  # stage, language and text
    commands: dict[str, None] = field(default_factory=dict)  # a text with the resources of each

    def command(self, work: NullWork, command: Command) -> None:
        """Record a command with its resources."""
        if isinstance(command, DispatchCommand | TraceCommand):
            counts = " × ".join(map(str, command.counts))
            kind = "workgroups" if isinstance(command, DispatchCommand) else "rays"
            lines = [f"{'dispatch' if kind == 'workgroups' else 'trace'} of {counts} {kind}"]
        else:
            assert work.data is not None
            lines = [f"draw of {' × '.join(map(str, work.data.size))} pixels"]
        for slot, resources in work.resources.items():
            for number, resource in enumerate(resources):
                index = f" [{number}]" if len(resources) > 1 else ""
                lines.append(f"  {_slot(slot)}{index}: {_contents(resource)}")
        self.commands["\n".join(lines)] = None


class _RecordedBuffer(ReferenceBuffer):
    """A buffer that keeps the last array that was written to its beginning."""

    array: npt.NDArray[Any] | None = None

    def write(self, array: npt.ArrayLike, offset: int = 0) -> None:
        """Write an array."""
        super().write(array, offset)
        if offset == 0:
            self.array = np.array(array)


class _RecordingDevice(NullDevice):
    """A null device whose buffers keep what is written to them."""

    _buffers = _RecordedBuffer


class _Recorder(Executor):
    """An executor that records the shaders that it compiles."""

    def __init__(self, device: NullDevice, recording: _Recording, seed: int) -> None:
        super().__init__(device, seed=seed)
        self._recording = recording

    def compile(self, source: str, *, stage: str, **options: Any) -> Module:
        """Record and compile a shader."""
        language = LANGUAGES.get(options.get("dialect", ""), "GLSL")
        self._recording.shaders[stage, language, source] = None
        return super().compile(source, stage=stage, **options)

    def plain(self, source: str, stage: str) -> Module:
        """Record and compile another shader of the pipeline."""
        self._recording.shaders[stage, "GLSL", source] = None
        return super().plain(source, stage)

    def transform_module(self, module: Module, source: str | None = None) -> Module:
        """Record a shader that the family compiled itself."""
        if source is not None:
            self._recording.shaders[module.reflection.entry_points[0].stage, "GLSL", source] = None
        return super().transform_module(module, source)


def named(name: str) -> AnyCase:
    """Return the case with this name; raise `InvalidInput` with similar names if there is none."""
    case = case_named(name)
    if case is not None:
        return case
    refuse(name)
    near = similar_names(name, _NAMES)
    lines = [f"no case is named {name!r}" + "; similar names:" * bool(near), *near]
    raise InvalidInput("\n".join([*lines, "vkgroup conform --list prints all names"]))


def show(case: AnyCase, seed: int = 0) -> str:
    """Return the description of a case as text; `seed` is that of its data."""
    family = family_of(case)
    recording = _Recording()
    with _RecordingDevice(recording.command, _supporting(family, case)) as device:
        executor = _Recorder(device, recording, seed)
        try:
            expectation = _expectation(family, executor, case)
        finally:
            executor.close()
    rule = rule_of_case(case.name)
    sections = {
        "Axes": [f"{name}: {value}" for name, value in _axes(case).items()],
        "Requirements": _requirements(family, case),
        "Rule": [f"{rule['document']} ({rule['strength']}):", f'"{rule["quote"]}"'] if rule else [],
        "Expected": expectation,
        "Commands": list(recording.commands),
    }
    for stage, language, source in recording.shaders:
        sections[f"Shader: {stage}, {language}"] = source.strip().split("\n")
    lines = [case.name, case.sentence, f"Family: {family.name} ({file_of(family)})"]
    for title, texts in sections.items():
        lines += [
            "",
            title,
            *(f"  {line}".rstrip() for text in texts or ["none"] for line in text.split("\n")),
        ]
    return "\n".join(lines) + "\n"


def _supporting(family: Family[Any], case: AnyCase) -> Capabilities:
    """Return the capabilities of the first null device that supports a case; of the first, if none does."""
    devices = [null_capabilities(size) for size in _SIZES]
    return next((device for device in devices if not family.missing(case, device)), devices[0])


def _requirements(family: Family[Any], case: AnyCase) -> list[str]:
    """Return the requirements of a case: those that devices without features lack."""
    limits = {name: _least(value) for name, value in null_capabilities(1).limits.items()}
    bare = Capabilities("", "other", subgroup=Subgroup(1), limits=limits)
    # Some requirements are checked only on devices with subgroup size control.
    sized = replace(bare, size_control=SizeControl(supported=True))
    lacking = [*family.missing(case, bare), *family.missing(case, sized)]
    # The texts also have the values of these devices.
    own = r" \((it is \d+|minSubgroupSize 0, maxSubgroupSize 0)\)|(?<=\()it is \d+; "
    return list(dict.fromkeys(re.sub(own, "", text) for text in lacking))


def _least(limit: Any) -> Any:
    """Return the limit of a device that has the least of everything."""
    if isinstance(limit, tuple):
        return tuple(map(_least, limit))
    return type(limit)(not isinstance(limit, bool))


def _axes(case: AnyCase) -> dict[str, Any]:
    """Return the values of a case's axes by name, without those that do not apply."""
    values: dict[str, Any] = {"category": case.category}
    if isinstance(case, TableCase):
        values |= case.axes._asdict()
    elif is_dataclass(case):
        values |= {entry.name: getattr(case, entry.name) for entry in fields(case)}
    return {
        name: ".".join(map(str, value)) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value not in ("", 0, None) and name not in ("name", "sentence")
    }


def _expectation(family: Family[Any], executor: Executor, case: AnyCase) -> list[str]:
    """Judge a case on a null device; return lines on the results that it must have."""
    try:
        verdict = family.verdicts_on(executor, [case])[0]
    except VkgroupError as error:
        return [f"the case ends with an error: {error}"]
    if family.program is not None and isinstance(case, Case) and case.operation != EXAMPLE:
        program = family.program(executor, [case])
        where, rows = _example(program.entries[0], program)
        return [f"{where}:", *(f"{name}: {', '.join(_ends(texts))}" for name, texts in rows.items())]
    if verdict.values is not None:
        return _legal_values(verdict.values.expected)
    evidence = verdict.evidence or {}
    if texts := evidence.get("rows", {}).get("expected"):
        return [f"{evidence['where']}: {', '.join(_ends(texts))}"]
    failure = verdict.detail.splitlines()[:_LINES]
    return ["records that agree with the rule; a device that executes nothing would fail:", *failure]


def _legal_values(expected: Expected) -> list[str]:
    """Return lines on the legal values of all elements."""
    if expected.low is not expected.high:
        lines = [f"at least {_text(expected.low)}", f"at most {_text(expected.high)}"]
    else:
        lines = [_text(expected.low), *(f"or {_text(other)}" for other in expected.others)]
    if expected.mask is not None:
        lines.append(f"compared in the bits {_text(expected.mask)}")
    defined = int(expected.defined.sum())
    return [*lines, f"{defined} of {expected.defined.size} elements are defined"]


def _slot(slot: Slot) -> str:
    """Return the place, name and kind of a slot."""
    place = f"set {slot.set}, " if slot.set else ""
    kind = slot.kind.replace("_", " ") + ("" if slot.writable else ", read only")
    return " ".join(filter(None, [f"{place}binding {slot.binding}", *slot.names[:1], f"({kind})"]))


def _contents(resource: Resource) -> str:
    """Return the contents of a resource before the command."""
    if isinstance(resource, ArrayBuffer):
        return _text(resource.read())
    if isinstance(resource, _RecordedBuffer) and resource.array is not None:
        return _text(resource.array)
    if isinstance(resource, Image):
        return f"{resource.format.name}, {_text(resource.read())}"
    return f"{resource.nbytes} bytes" if isinstance(resource, ReferenceBuffer) else "a scene"


def _text(array: npt.NDArray[Any]) -> str:
    """Return dtype, shape and elements of an array; of a long one the first and the last elements."""
    shape, flat = " × ".join(map(str, array.shape)), array.ravel()
    same = flat.size > 1 and bool((flat == flat[0]).all())
    elements = f"all {text_of(flat[0])}" if same else ", ".join(_ends(flat))
    return f"{array.dtype.name} ({shape}): {elements}"


def _ends(values: Sequence[Any] | npt.NDArray[Any]) -> Iterator[str]:
    """Yield the texts of values; of many, those of the first and the last ones."""
    whole = len(values) <= 2 * _ENDS
    for value in values if whole else values[:_ENDS]:
        yield "any" if value is None else text_of(value)
    if not whole:
        yield "…"
        yield from _ends(values[-_ENDS:])


def _example(entry: BatchEntry, program: BatchProgram) -> tuple[str, dict[str, list[str | None]]]:
    """Return what each lane of one subgroup must record, if all its lanes execute the operation together.

    Returns
    -------
    A phrase for the subgroup; and the texts of the lanes by name: ``input``, ``operand`` and ``expected``,
    where None stands for any value. Barriers are as if each lane had seen the other lane's flag.
    """
    size, stage = program.subgroup_size, program.stage
    none, lanes = np.zeros(1, np.int64), np.arange(size)[None]
    active = np.ones((1, size), np.bool_)
    instances = Instances(
        size=size, slot=none, group=none, subgroup=none, number=none,
        subgroups=(np.arange(max(stage.group_places // size, 1)),) * WORKGROUPS,
        member=lanes, place=stage.places(none, none, lanes), cell=stage.cell(none, lanes),
        active=active, recorded=active, mask=pack(active), faults=(),
    )  # fmt: skip
    words = np.ones(program.output_words, np.uint32)
    got, _ = results_of(entry, program, instances, words)
    expected = expected_of(entry, instances, got)
    judged = JudgedLanes(entry, program, instances, words, got, expected, ~active[..., None])
    rows = judged.rows(0, list(range(size)))
    del rows["got"]
    return f"{judged.where(0)}, if all its {size} lanes are active", rows
