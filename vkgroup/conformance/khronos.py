"""Mapping of names of the Khronos suite (VK-GL-CTS) to vkgroup's cases that test the same operations.

`dEQP-VK.subgroups.GROUP.PLACE.TEST` names a group of operations, the stages in which one of them runs, and
the operation with its type. `dEQP-VK.reconvergence.GROUP.STAGE.nestingN.A.B` is one random program.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from vkgroup.base.errors import InvalidInput
from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.families import KHRONOS
from vkgroup.conformance.intrinsics import OLDER
from vkgroup.conformance.khronos_groups import GROUPS, Outside
from vkgroup.conformance.stages.pixels import FRAMEBUFFER
from vkgroup.conformance.subgroup.operands import choices
from vkgroup.spec.operations import BUILTIN_VARIABLES, SUBGROUP_OPERATIONS, OperandKind
from vkgroup.spec.stages import PRIMITIVE_STAGES, RAY_STAGES, STAGES
from vkgroup.spec.types import type_named

PREFIX = KHRONOS


@dataclass(frozen=True)
class Mapping:
    """The cases that a Khronos name maps to."""

    name: str  # the Khronos name
    globs: tuple[str, ...] = ()  # globs over vkgroup's names; empty if there is no counterpart
    reason: str = ""  # why there is no counterpart


@dataclass(frozen=True)
class _Test:
    """The parts of a Khronos name of the group `subgroups`."""

    group: str  # its group
    place: str  # ``"compute"``, ``"framebuffer"``, ``"mesh"``, …
    stages: tuple[str, ...]  # vkgroup's stages
    text: str  # the rest: operation, type and kind of operand
    size: str | None  # required subgroup size: a number, "" for any, None if none is required
    older: bool  # whether it uses the EXT ballots and votes

    @property
    def sized(self) -> str:
        """The last part of a glob, for the required size."""
        return "" if self.size is None else f".size{self.size or '*'}"


_PLACES = {"compute": ("compute",), "graphics": PRIMITIVE_STAGES, "ray_tracing": RAY_STAGES}
_SHORT = {stage.khronos: stage.name for stage in STAGES if stage.khronos}
_OLDER = re.compile(r"^ext_shader_subgroup_(ballot|vote)\.")
_SIZE = re.compile(r"_requiredsubgroupsize(\d*)")
_STAGE_LAST = re.compile(rf"_?({'|'.join(_SHORT)})$")
_STAGE_FIRST = re.compile(rf"^({'|'.join(_SHORT)})_")


def _take_apart(group: str, rest: str) -> _Test:
    """Parse a name of the group `subgroups`; raise ValueError if it names no stage."""
    older = _OLDER.match(rest)
    place, _, text = (rest[older.end() :] if older else rest).partition(".")
    match = _SIZE.search(text)
    size = match[1] if match else None
    text = _SIZE.sub("", text)
    stages = _PLACES.get(place)
    if place == "frag_helper":
        stages, text = ("fragment",), text.removesuffix("_fragment")
    if stages is None:
        pattern = _STAGE_FIRST if group == "size_control" and _STAGE_FIRST.match(text) else _STAGE_LAST
        stage = pattern.search(text)
        if stage is None:
            raise ValueError(f"no stage in {rest!r}")
        stages, text = (_SHORT[stage[1]],), pattern.sub("", text)
    return _Test(group, place, stages, text, size, older is not None)


_OPERATIONS = {name.lower(): operation for name, operation in SUBGROUP_OPERATIONS.items()}
_OLDER_NAMES = {name.lower(): name for name in OLDER}
_VARIABLES = {name.lower(): name for name in BUILTIN_VARIABLES}
_SHAPES = ("clustered", "quad")


def _operands(operation: str, text: str) -> tuple[str, tuple[str, ...]]:
    """Return the type and the operand choices from a test's text after the operation."""
    names = tuple(choices(operation))
    constant = tuple(name for name, choice in choices(operation).items() if choice.literal is not None)
    dynamic = tuple(name for name in names if name.startswith("dynamic"))
    if text.startswith("nonconst_"):
        return text.removeprefix("nonconst_"), dynamic
    if text.endswith("_dynamically_uniform"):
        return text.removesuffix("_dynamically_uniform"), dynamic
    if text.endswith("_constant"):
        return text.removesuffix("_constant"), constant
    if operation in ("subgroupBroadcast", "subgroupQuadBroadcast"):
        return text, constant
    return text, ("*",) if names else ()


def _ending(test: _Test, operand: str) -> str:
    """Return the glob after the type: pattern, data, operand, and framebuffer or size."""
    parts = [".*.*", f".{operand}" if operand else ""]
    if test.place == FRAMEBUFFER and test.stages[0] not in ("task", "mesh"):
        parts.append(f".{FRAMEBUFFER}")
    elif test.size is not None:
        parts.append(test.sized)
    else:
        parts.append("" if operand else "*")
    if test.place == "frag_helper":
        parts[0] = ".partial.*"
    return "".join(parts)


def _operation_globs(test: _Test) -> tuple[str, ...]:
    """Return the globs of a test of one operation on one type."""
    stem, _, rest = test.text.partition("_")
    if test.group == "partitioned":
        stem = f"subgrouppartitioned{stem.removeprefix('subgroup')}nv"
    operation = _OPERATIONS[stem]
    if operation.name in BARRIERS:
        sized = test.sized or ".*"
        return tuple(f"basic.{stage}.{operation.name}.uint.*{sized}" for stage in test.stages)
    type_, operands = _operands(operation.name, rest)
    if operation.operands and operation.operands[0].kind is OperandKind.VALUE:
        if type_named(type_).scalar not in {known.scalar for known in operation.types}:
            raise ValueError(f"{operation.name} of {type_}")
        names = type_
    else:
        # Khronos tests of predicates and ballots name the type of the values compared in the predicate.
        names = operation.types[0].name
    category = operation.category.value
    return tuple(
        f"{category}.{stage}.{operation.name}.{names}{_ending(test, operand)}"
        for stage in test.stages
        for operand in operands or ("",)
    )


def _older_globs(test: _Test) -> tuple[str, ...]:
    """Return the globs of a test of the older ballots and votes."""
    pattern = "partial" if test.place == "frag_helper" else "*"
    stem, _, rest = test.text.partition("_")
    type_, operands = "*", [""]
    if test.group == "ballot":
        names = ["ballotARB", "OpSubgroupBallotKHR"]
    elif test.group == "ballot_mask":
        names = [_OLDER_NAMES[test.text]]
    elif stem == "subgroupbroadcastfirst":
        names, type_ = ["readFirstInvocationARB", "OpSubgroupFirstInvocationKHR"], rest
    elif stem == "subgroupbroadcast":
        names = ["readInvocationARB", "OpSubgroupReadInvocationKHR"]
        type_ = rest.removeprefix("nonconst_")
        operands = [".dynamic"] if type_ != rest else [".first", ".middle", ".last"]
    else:
        names = [_OLDER_NAMES[stem]]
    return tuple(
        f"legacy_ballot.{stage}.{name}.{type_}.{pattern}{operand}.*{test.sized}"
        for stage in test.stages
        for name in names
        for operand in operands
    )


def _variable_globs(test: _Test) -> tuple[str, ...]:
    """Return the globs of a test of a built-in variable."""
    text = test.text.removesuffix("_compute")
    name = _VARIABLES[f"gl_{text}"]
    category = BUILTIN_VARIABLES[name].category.value
    type_ = BUILTIN_VARIABLES[name].type.name
    return tuple(f"{category}.{stage}.{name}.{type_}{_ending(test, '')}" for stage in test.stages)


def _shape_globs(test: _Test) -> tuple[str, ...]:
    """Return the globs of all cases of a category in a stage; each of them tests the workgroup's shape."""
    if test.text not in _SHAPES:
        raise ValueError(test.text)
    ending = f".{FRAMEBUFFER}" if test.place == FRAMEBUFFER else test.sized
    return tuple(f"{test.text}.{stage}.*{ending}" for stage in test.stages)


_SIZE_CONTROL = re.compile(
    r"(?P<what>allow_varying_subgroup_size|require_full_subgroups(_allow_varying_subgroup_size)?|"
    r"required_subgroup_size_(?P<end>min|max)(?P<full>_require_full_subgroups)?)"
    r"(?P<flags>_flags)?(?P<spirv>_spirv16)?$"
)


def _size_control_globs(test: _Test) -> tuple[str, ...]:
    """Return the globs of a test of sizes; from SPIR-V 1.6 on, varying and full sizes need no flag."""
    match = _SIZE_CONTROL.match(test.text)
    if match is None:
        raise ValueError(test.text)
    what = match["what"]
    # Tests of SPIR-V 1.6 without `flags` in their name set none: from 1.6 on, sizes vary without a flag.
    flags = bool(match["flags"]) or not match["spirv"]
    varying = flags and "allow_varying" in what
    mode = f"required_{match['end']}" if match["end"] else "varying" if varying else "default"
    mode += "_full" if flags and "require_full" in what else ""
    spirv = ".spirv16" if match["spirv"] else ""
    stages = ("graphics",) if test.place == "graphics" else test.stages
    ending = f".{FRAMEBUFFER}" if test.place == FRAMEBUFFER else ""
    return tuple(f"size_control.{stage}.{mode}{spirv}{ending}" for stage in stages)


_GROUPS: dict[str, Callable[[_Test], tuple[str, ...]]] = {
    "ballot": lambda test: tuple(
        f"ballot.{stage}.subgroupBallot.bool{_ending(test, '')}" for stage in test.stages
    ),
    "builtin_var": _variable_globs,
    "builtin_mask_var": _variable_globs,
    "shape": _shape_globs,
    "size_control": _size_control_globs,
}

_ALONE: dict[str, tuple[str, ...]] = {
    "multiple_dispatches.uniform_subgroup_size": ("multiple_dispatches.compute.*",),
    "size_control.generic.subgroup_size_properties": ("size_control.properties.*",),
    "shader_quad_control.divergent_condition": (
        "quad_control.scene.divergent_*",
        "quad_control.fragment.*.nested",
    ),
    "shader_quad_control.quad_derivatives": ("quad_control.scene.derivative.*",),
    "shader_quad_control.require_full_quads": ("quad_control.scene.full.*",),
    "shader_quad_control.terminated_invocation": ("quad_control.scene.terminate_*",),
}
"""Khronos names that are mapped one by one."""


def refuse(name: str) -> None:
    """Raise InvalidInput for a Khronos name where a case of vkgroup is wanted; it may map to several."""
    if name.startswith(PREFIX):
        cases = " ".join(f"--filter {glob!r}" for glob in map_name(name).globs) or "no case"
        raise InvalidInput(f"{name} is a name of Khronos' suite, for --caselist FILE. It stands for {cases}.")


@cache
def map_name(name: str) -> Mapping:
    """Return the mapping of one Khronos name to globs over vkgroup's names."""
    suite, _, rest = name.removeprefix(PREFIX).partition(".")
    try:
        if suite == "subgroups":
            return Mapping(name, _subgroup_globs(rest))
        if suite == "reconvergence":
            # The random program of the same name, or the draws of a fragment test.
            return Mapping(name, (f"reconvergence.{rest}{'' if '.compute.' in rest else '.*'}",))
        if suite in GROUPS:
            return Mapping(name, GROUPS[suite](rest))
    except Outside as outside:
        return Mapping(name, reason=str(outside))
    except (IndexError, KeyError, ValueError):
        return Mapping(name, reason="a name that follows no rule of the suite's")
    return Mapping(name, reason="a group of Khronos' suite without subgroups, quads, scopes or matrices")


def _subgroup_globs(rest: str) -> tuple[str, ...]:
    if rest in _ALONE:
        return _ALONE[rest]
    group, _, tail = rest.partition(".")
    if group == "uniform_descriptor_indexing":
        return (f"descriptor_indexing.*.{tail}.*",)
    if group == "subgroup_uniform_control_flow":
        # Constructs in workgroups of a given size; with "control", full subgroups are required.
        kind, _, construct = tail.partition(".")
        name = "*" if kind == "discard" else f"reconverge{construct[-2:]}.*"
        return (f"reconvergence.subgroup_uniform.{kind}.{name}",)
    test = _take_apart(group, tail)
    if test.older:
        return _older_globs(test)
    return _GROUPS.get(group, _operation_globs)(test)
