"""The steps of a reproduction folder as data: calls of a device, and the values of their arguments.

Values that JSON has are JSON; the others are objects with a ``kind``. Each memory of a device has a number,
so that values that share memory share it again. Arrays and modules are files of the folder.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from vkgroup.base.sampler import Sampler
from vkgroup.dispatch import DrawState

# --- values -------------------------------------------------------------------------------------------------


class EncodedValue(Struct, tag_field="kind", forbid_unknown_fields=True):
    """A value that is no JSON."""


class ArrayFile(EncodedValue, tag="array"):
    """An array."""

    file: str


class BufferFile(EncodedValue, tag="buffer"):
    """A buffer with its content."""

    number: int
    file: str


class ImageFiles(EncodedValue, tag="image"):
    """An image with the content of its levels; no files for one of several samples."""

    number: int
    files: list[str]
    format: str
    dimension: str
    layers: bool
    sampled: bool


class BytesValue(EncodedValue, tag="bytes"):
    """Bytes in hexadecimal digits."""

    digits: Annotated[str, Meta(pattern="^([0-9a-f]{2})*$")]


class ModuleFile(EncodedValue, tag="module"):
    """A shader."""

    file: str


class SamplerState(EncodedValue, tag="sampler"):
    """A sampler."""

    state: dict[str, Any]

    def __post_init__(self) -> None:
        if unknown := self.state.keys() - {field.name for field in fields(Sampler)}:
            raise ValueError(f"unknown attribute {min(unknown)!r}")
        self.sampler()

    def sampler(self) -> Sampler:
        """Return the sampler; ValueError if an attribute has a wrong type."""
        return msgspec.convert(self.state, Sampler)


class HitGroupModules(EncodedValue, tag="hit_group"):
    """The shaders of a hit group."""

    stages: dict[Literal["closest_hit", "any_hit", "intersection"], ModuleFile]


class MappingValue(EncodedValue, tag="mapping"):
    """A mapping."""

    pairs: list[tuple[Value, Value]]


class TupleValue(EncodedValue, tag="tuple"):
    """A tuple."""

    parts: list[Value]


class ListValue(EncodedValue, tag="list"):
    """A list."""

    parts: list[Value]


class StructureValue(EncodedValue, tag="structure"):
    """An acceleration structure."""

    parts: list[ScenePart]


class InstancePart(EncodedValue, tag="instance"):
    """An instance of a bottom level."""

    bottom: StructureValue
    transform: str
    numbers: tuple[int, int, int]  # custom index, mask, offset of the hit group


class TrianglesPart(EncodedValue, tag="triangles"):
    """Triangles: files of their vertices and indices, and their flags."""

    vertices: str
    indices: str | None
    opaque: bool
    no_duplicate_any_hit: bool


class BoxesPart(EncodedValue, tag="boxes"):
    """Boxes: the file of their bounds, and their flags."""

    bounds: str
    opaque: bool
    no_duplicate_any_hit: bool


ScenePart = StructureValue | InstancePart | TrianglesPart | BoxesPart

Value = (
    bool | int | float | str | ArrayFile | BufferFile | ImageFiles | BytesValue | ModuleFile | SamplerState
    | HitGroupModules | MappingValue | TupleValue | ListValue | ScenePart | None
)  # fmt: skip


# --- steps --------------------------------------------------------------------------------------------------


class PipelineArguments(Struct, forbid_unknown_fields=True):
    """A compute pipeline and its bindings."""

    module: ModuleFile
    bindings: MappingValue
    entry_point: str | None = None
    specialization: MappingValue | None = None
    subgroup_size: int | None = None
    full_subgroups: bool = False
    varying_subgroup_size: bool = False


class DispatchArguments(PipelineArguments):
    """A dispatch; either `groups` or `indirect`, a buffer with the numbers of workgroups at `offset`."""

    groups: int | TupleValue | ListValue | ArrayFile | None = None
    indirect: BufferFile | None = None
    offset: int = 0
    repeat: int = 1
    push: Value = None

    def __post_init__(self) -> None:
        if (self.groups is None) == (self.indirect is None):
            raise ValueError("a dispatch needs either groups or indirect")


class SequenceDispatch(Struct, tag_field="call", tag="dispatch"):
    """A dispatch of a sequence; `bound` is the number of its pipeline."""

    bound: Annotated[int, Meta(ge=0)]
    groups: Value
    push: Value


class SequenceFill(Struct, tag_field="call", tag="fill"):
    """A fill of a sequence."""

    buffer: BufferFile
    value: int
    offset: int
    nbytes: int | None


class SequenceCopy(Struct, tag_field="call", tag="copy"):
    """A copy of a sequence."""

    source: BufferFile
    target: BufferFile
    source_offset: int
    target_offset: int
    nbytes: int | None


class SequenceArguments(Struct, forbid_unknown_fields=True):
    """A sequence: lists of parts that run side by side, and the pipelines that they use."""

    steps: list[list[SequenceDispatch | SequenceFill | SequenceCopy]]
    bounds: list[PipelineArguments]

    def __post_init__(self) -> None:
        parts = (part for stage in self.steps for part in stage if isinstance(part, SequenceDispatch))
        if unknown := [part.bound for part in parts if part.bound >= len(self.bounds)]:
            raise ValueError(f"{unknown[0]} is not the number of a pipeline in bounds")


_Modules = ModuleFile | TupleValue | ListValue


class TraceArguments(Struct, forbid_unknown_fields=True):
    """Arguments of `Device.trace`."""

    raygen: ModuleFile
    size: Value
    bindings: MappingValue
    miss: _Modules | None = None
    hit_groups: HitGroupModules | TupleValue | ListValue | None = None
    callable: _Modules | None = None
    push: Value = None
    specialization: MappingValue | None = None
    subgroup_size: int | None = None
    varying_subgroup_size: bool = False
    max_recursion: int | None = None
    repeat: int = 1

    def __post_init__(self) -> None:
        for name in ("miss", "hit_groups", "callable"):
            _require_modules(name, getattr(self, name))


_SHADERS = ("vertex", "geometry", "mesh", "task")
_DRAWN = (
    "groups", "vertices", "indices", "count", "instances", "colors", "depth", "push", "specialization",
    "subgroup_size", "full_subgroups", "varying_subgroup_size", "repeat",
)  # fmt: skip


class _Draw(Struct, forbid_unknown_fields=True):
    shader: ModuleFile
    size: TupleValue | ListValue
    bindings: MappingValue
    tessellation: TupleValue | None = None

    def __post_init__(self) -> None:
        _require_modules("tessellation", self.tessellation)


DrawArguments = msgspec.defstruct(
    "DrawArguments",
    [
        *((name, ModuleFile | None, None) for name in _SHADERS),
        *((name, Value, None) for name in (*_DRAWN, *(field.name for field in fields(DrawState)))),
    ],
    bases=(_Draw,),
    forbid_unknown_fields=True,
)
"""Arguments of `Device.draw`, with the attributes of its state."""


def _require_modules(name: str, value: Value) -> None:
    """Raise ValueError unless a value has only shaders: a text would be the name of a file outside."""
    parts = value.parts if isinstance(value, TupleValue | ListValue) else [] if value is None else [value]
    if not all(isinstance(part, ModuleFile | HitGroupModules) for part in parts):
        raise ValueError(f"{name}: Expected shaders")


class RecordedOutput(Struct):
    """An output of a step: the number of its memory, or a key and a part of the results."""

    name: str
    file: str
    memory: int | None = None
    result: Value = None
    part: int = 0


class RecordedStep(Struct, tag_field="call"):
    """A call of a device, and what it left."""

    outputs: list[RecordedOutput]


class DispatchStep(RecordedStep, tag="dispatch"):
    """A dispatch."""

    arguments: DispatchArguments


class DrawStep(RecordedStep, tag="draw"):
    """A draw."""

    arguments: DrawArguments  # type: ignore[valid-type]


class TraceStep(RecordedStep, tag="trace"):
    """A trace."""

    arguments: TraceArguments


class SequenceStep(RecordedStep, tag="sequence"):
    """A run of a sequence."""

    arguments: SequenceArguments


AnyStep = DispatchStep | DrawStep | TraceStep | SequenceStep
