"""Types of ``repro.json``: every value of a damaged record is reported as bad input with its place.

`vkgroup.outputs.reproduction.values` describes the encoding of arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from vkgroup.base.errors import InvalidInput
from vkgroup.base.sampler import Sampler
from vkgroup.record.record import Status


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


# --- encoded values -----------------------------------------------------------------------------------------


class _Encoded(Struct):
    """An encoded value; a scene has other parts, which `_check_scene` checks."""

    def parts(self) -> Iterator[tuple[str, Any]]:
        """Yield the encoded values in it, each with its place."""
        yield from ()


class _Array(_Encoded):
    array: str


class _Buffer(_Encoded):
    buffer: int
    file: str


class _Image(_Encoded):
    image: int
    files: list[str]
    format: str
    dimension: str | int
    layers: bool
    sampled: bool


class _Bytes(_Encoded):
    bytes: Annotated[str, Meta(pattern="^([0-9a-f]{2})*$")]


class _Module(_Encoded, forbid_unknown_fields=True):
    module: str


class _Sampler(_Encoded):
    sampler: Sampler


class _HitGroup(_Encoded):
    hit_group: dict[Literal["closest_hit", "any_hit", "intersection"], _Module]


class _Mapping(_Encoded):
    mapping: list[tuple[Any, Any]]

    def parts(self) -> Iterator[tuple[str, Any]]:
        """Yield the keys and values, each with its place."""
        for number, (key, value) in enumerate(self.mapping):
            yield f"mapping[{number}][0]", key
            yield f"mapping[{number}][1]", value


class _Tuple(_Encoded, rename={"elements": "tuple"}):
    elements: list[Any]

    def parts(self) -> Iterator[tuple[str, Any]]:
        """Yield the elements, each with its place."""
        yield from ((f"tuple[{number}]", part) for number, part in enumerate(self.elements))


class _List(_Encoded, rename={"elements": "list"}):
    elements: list[Any]

    def parts(self) -> Iterator[tuple[str, Any]]:
        """Yield the elements, each with its place."""
        yield from ((f"list[{number}]", part) for number, part in enumerate(self.elements))


class _Instance(Struct):
    instance: Any
    transform: str
    numbers: tuple[int, int, int]


class _Geometry(Struct):
    """Triangles or boxes: names of their files, and their flags."""

    opaque: bool
    no_duplicate_any_hit: bool
    triangles: str | None = None
    indices: str | None = None
    boxes: str | None = None


class _Scene(_Encoded):
    scene: Any


_VALUES: dict[str, type[_Encoded]] = {
    "array": _Array,
    "buffer": _Buffer,
    "image": _Image,
    "scene": _Scene,
    "module": _Module,
    "bytes": _Bytes,
    "sampler": _Sampler,
    "hit_group": _HitGroup,
    "mapping": _Mapping,
    "tuple": _Tuple,
    "list": _List,
}
"""The types of encoded values, by the key that an object of each has."""


# --- steps --------------------------------------------------------------------------------------------------


class _Pair(Struct, rename={"elements": "tuple"}, forbid_unknown_fields=True):
    elements: tuple[_Module, _Module]


class _Modules(Struct, rename={"as_tuple": "tuple", "as_list": "list"}, forbid_unknown_fields=True):
    """Modules in a tuple or a list, and nothing else: a text would be the name of a shader's file."""

    as_tuple: list[_Module] = []
    as_list: list[_Module] = []


class _Work(Struct):
    """The pipeline and bindings of a dispatch."""

    module: _Module
    bindings: _Mapping
    entry_point: str | None = None
    specialization: _Mapping | None = None
    subgroup_size: int | None = None
    full_subgroups: bool | None = None
    varying_subgroup_size: bool | None = None


class _Dispatch(_Work):
    offset: int = 0
    repeat: int = 1


class _Draw(Struct):
    shader: _Module
    bindings: _Mapping | None = None
    vertex: _Module | None = None
    tessellation: _Pair | None = None
    geometry: _Module | None = None
    mesh: _Module | None = None
    task: _Module | None = None


class _Trace(Struct):
    raygen: _Module
    bindings: _Mapping | None = None
    miss: _Modules | None = None
    callable: _Modules | None = None


class _Part(Struct):
    """A dispatch, fill or copy of a sequence."""

    bound: int | None = None
    groups: Any = None
    push: Any = None
    fill: dict[str, Any] | None = None
    copy: dict[str, Any] | None = None


class _Sequence(Struct):
    steps: list[_Part | list[Any]]
    bounds: list[_Work]


_ARGUMENTS: dict[str, type[Struct]] = {
    "dispatch": _Dispatch,
    "draw": _Draw,
    "trace": _Trace,
    "sequence": _Sequence,
}
"""The arguments of a step by its call; arguments that are not listed are encoded values."""


class _Output(Struct):
    name: str
    file: str
    memory: int | None = None
    result: Any = None
    part: int = 0


class _Step(Struct):
    call: Literal["dispatch", "draw", "trace", "sequence"]
    arguments: dict[str, Any]
    outputs: list[_Output]


# --- records ------------------------------------------------------------------------------------------------


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


class _Result(Struct):
    case: str
    status: Status
    seconds: float
    defined: int
    undefined: int
    detail: str
    evidence: dict[str, Any] | None = None
    device: str = ""


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
    steps: list[_Step]
    lanes: _Lanes | None
    masks: _Masks | None = None
    result: _Result | None = None
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
    steps: Annotated[list[_Step], Meta(min_length=1, max_length=1)]
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


class _Check(Struct):
    """The record of a check."""

    vkgroup: str
    shader: str
    findings: str
    text: list[str]
    report: dict[str, Any]
    shaders: Annotated[list[_Shader], Meta(min_length=1)]
    sha256: str
    bindings: dict[Annotated[str, Meta(pattern=r"^\d+\.\d+$")], str]
    groups: tuple[int, int, int]
    sizes: list[Annotated[int, Meta(ge=1)]]
    entry_point: str | None
    outputs: list[str | int | list[int]]
    push: dict[str, Any]
    specialization: list[tuple[str | int, bool | int | float]]
    defines: dict[str, str | int]
    seed: int
    step_limit: int
    runs: list[_Run]
    device: _Device
    local_size: list[Annotated[int, Meta(ge=1)]] | None = None
    host: _Host | None = None
    strict: bool = False
    target: str = "vulkan1.2"


T = TypeVar("T")


def check(record: Any, path: Path) -> None:
    """Raise InvalidInput, with the place and the reason, unless every value of a record has its type.

    `record`: the decoded JSON, of kind ``"case"``, ``"check"`` or ``"run"``. `path`: its file, for messages.
    """
    try:
        if record["kind"] == "check":
            _convert(record, _Check, "")
            return
        kind: type[_Case | _Single] = _Single if record["kind"] == "run" else _Case
        for number, step in enumerate(_convert(record, kind, "").steps):
            where = f"steps[{number}]"
            _check_arguments(step.call, step.arguments, f"{where}.arguments")
            for place, output in enumerate(step.outputs):
                _check_value(output.result, f"{where}.outputs[{place}].result")
    except (_Damage, RecursionError) as error:
        raise InvalidInput(f"{path} is damaged: {error}. Make the folder again.") from error


class _Damage(Exception):
    """A value of a wrong type; the message has its place."""


def _convert(value: Any, kind: type[T], where: str) -> T:
    """Return a value as a type; `_Damage` if it is of another."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        reason, _, inner = str(error).partition(" - at `$")
        place = f"{where}{inner.rstrip('`')}".lstrip(".")
        raise _Damage(f"{place}: {reason}" if place else reason) from error


def _check_arguments(call: str, arguments: dict[str, Any], where: str) -> None:
    """Check the arguments of a step, then the encoded values in them."""
    typed = _convert(arguments, _ARGUMENTS[call], where)
    if isinstance(typed, _Sequence):
        for number, part in enumerate(arguments["steps"]):
            _check_part(part, f"{where}.steps[{number}]", len(typed.bounds))
        for number, bound in enumerate(arguments["bounds"]):
            _check_values(bound, f"{where}.bounds[{number}]")
        return
    if isinstance(typed, _Dispatch) and ("groups" in arguments) == ("indirect" in arguments):
        raise _Damage(f"{where}: a dispatch needs either groups or indirect")
    _check_values(arguments, where)


def _check_part(part: Any, where: str, bounds: int) -> None:
    """Check a part of a sequence, or several side by side."""
    if isinstance(part, list):
        for number, one in enumerate(part):
            _check_part(one, f"{where}[{number}]", bounds)
        return
    typed = _convert(part, _Part, where)
    inner = typed.fill if typed.fill is not None else typed.copy
    if inner is None and (typed.bound is None or not 0 <= typed.bound < bounds):
        raise _Damage(f"{where}.bound: {typed.bound} is not the number of a pipeline in bounds")
    _check_values({"groups": typed.groups, "push": typed.push} if inner is None else inner, where)


def _check_values(values: dict[str, Any], where: str) -> None:
    for name, value in values.items():
        _check_value(value, f"{where}.{name}")


def _check_value(value: Any, where: str) -> None:
    """Check an encoded value and its parts."""
    if value is None or isinstance(value, bool | int | float | str):
        return
    kind = next((kind for kind in _VALUES if kind in value), None) if isinstance(value, dict) else None
    if kind is None:
        raise _Damage(f"{where}: not an encoded value")
    typed = _convert(value, _VALUES[kind], where)
    if isinstance(typed, _Sampler) and (unknown := value["sampler"].keys() - vars(typed.sampler).keys()):
        raise _Damage(f"{where}.sampler: unknown attribute {min(unknown)!r}")
    if isinstance(typed, _Scene):
        _check_scene(typed.scene, f"{where}.scene")
    for name, part in typed.parts():
        _check_value(part, f"{where}.{name}")


def _check_scene(scene: Any, where: str) -> None:
    """Check an acceleration structure or a part of one."""
    if isinstance(scene, list):
        for number, part in enumerate(scene):
            _check_scene(part, f"{where}[{number}]")
    elif isinstance(scene, dict) and "instance" in scene:
        _check_scene(_convert(scene, _Instance, where).instance, f"{where}.instance")
    else:
        geometry = _convert(scene, _Geometry, where)
        if (geometry.triangles is None) == (geometry.boxes is None):
            raise _Damage(f"{where}: not triangles, boxes or an instance")
