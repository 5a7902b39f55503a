"""Types of ``repro.json``: every value of a damaged record is reported as bad input with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from vkgroup.base.errors import InvalidInput
from vkgroup.outputs.reproduction.recipe import AnyStep
from vkgroup.record.record import Result


class _Device(Struct):
    name: str
    driver: str
    subgroup_size: Annotated[int, Meta(ge=1)]
    choice: str = ""


class _Shader(Struct):
    """A shader: names of its files, and its language."""

    stage: str
    spirv: str
    text: str
    source: str = ""
    dialect: str = ""


class _Source(Struct):
    step: Annotated[int, Meta(ge=0)]
    output: Annotated[int, Meta(ge=0)]


_Count = Annotated[int, Meta(ge=0)]


class _LaneLayout(Struct):
    """Where a program records the results of lanes."""

    stage: str
    invocations: _Count
    record_planes: _Count
    slots: _Count
    result_at: _Count
    input_type: str
    where: list[str]


class _Lanes(Struct):
    """Expected values of lanes."""

    type: str
    bits: bool
    source: _Source | None
    record_words: _Count
    files: dict[str, str]
    layout: _LaneLayout


class _MaskLayout(Struct):
    """Where a program records active masks."""

    stage: str
    size: _Count
    invocations: _Count
    record_planes: _Count
    slots: _Count
    group: _Count
    demotes: bool


class _Masks(Struct):
    """Active masks, of which one is wrong."""

    source: _Source
    layout: _MaskLayout


class _Expected(Struct):
    step: int
    name: str
    file: str
    defined: str
    differing: int


class _Reference(Struct):
    outputs: list[_Expected]
    why_not: str


class _Shrunk(Struct):
    statements: int
    of: int
    done: bool


class _Case(Struct):
    """The record of a case; `result` and `digests` are absent while the case runs."""

    vkgroup: str
    case: str
    family: str
    sentence: str
    seed: int
    device: _Device
    shaders: list[_Shader]
    steps: list[AnyStep]
    lanes: _Lanes | None
    masks: _Masks | None = None
    result: Result | None = None
    left_out: int = 0
    specification: str = ""
    reference: _Reference | None = None
    shrunk: _Shrunk | None = None
    of: str = ""
    path: list[int] = []
    program: str = ""
    no_program: str = ""
    digests: dict[str, str] = {}


class _Single(Struct):
    """The record of a run; `complete` tells whether it ended."""

    vkgroup: str
    shader: str
    device: _Device
    shaders: Annotated[list[_Shader], Meta(min_length=1)]
    steps: Annotated[list[AnyStep], Meta(min_length=1, max_length=1)]
    complete: bool


class _Run(Struct):
    size: int
    name: str
    right: bool
    file: str
    defined: str


class _Host(Struct):
    """The guarantees of the host in a check."""

    full_subgroups: bool
    linear_lanes: bool
    size_control: bool
    reconvergence: Literal["declared", "maximal"] = "declared"
    progress: Literal["occupancy", "one", "fair"] = "occupancy"


class _Check(Struct):
    """The record of a check."""

    vkgroup: str
    shader: str
    findings: str
    text: list[str]
    report: dict[str, Any]
    shaders: Annotated[list[_Shader], Meta(min_length=1)]
    sha256: str
    bindings: dict[Annotated[str, Meta(pattern=r"^\d+\.\d+$")], str | list[str]]
    groups: tuple[int, int, int]
    sizes: list[Annotated[int, Meta(ge=1)]]
    entry_point: str | None
    outputs: list[str | int | list[int]]
    push: dict[str, Any]
    specialization: list[tuple[str | int, bool | int | float]]
    defines: dict[str, str | int]
    seed: int
    step_limit: int
    target: str
    runs: list[_Run]
    device: _Device
    local_size: list[Annotated[int, Meta(ge=1)]] | None = None
    host: _Host | None = None
    strict: bool = False


def check(record: Any, path: Path) -> None:
    """Raise InvalidInput, with the place and the reason, unless every value of a record has its type.

    `record`: the decoded JSON, of kind ``"case"``, ``"check"`` or ``"run"``. `path`: its file, for messages.
    """
    try:
        msgspec.convert(record, {"case": _Case, "check": _Check, "run": _Single}[record["kind"]])
    except (msgspec.ValidationError, RecursionError) as error:
        reason, _, place = str(error).partition(" - at `$")
        place = place.rstrip("`").lstrip(".")
        reason = f"{place}: {reason}" if place else reason
        raise InvalidInput(f"{path} is damaged: {reason}. Make the folder again.") from error
