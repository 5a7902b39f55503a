"""Assignment of Vulkan sets, bindings, offsets and locations to the variables of a GL program."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from vkgroup.compiler.gl.blocks import Value, extent, holds_data, holds_opaque, leaves, same
from vkgroup.compiler.gl.interface import (
    COUNTER_BINDINGS,
    DEFAULT_BLOCK_BINDING,
    SETS,
    AtomicCounter,
    GlInterface,
    LooseUniform,
    Resource,
)
from vkgroup.compiler.gl.stage import (
    GlStage,
    Locations,
    NumberAllocator,
    PlanError,
    locate,
    located,
    uniform_locations,
)
from vkgroup.spec.stages import PRIMITIVE_STAGES
from vkgroup.spirv.layout import round_up
from vkgroup.spirv.types import (
    ArrayType,
    ImageType,
    SampledImageType,
    StructType,
    Type,
    dimensions,
    innermost,
)

#: Stages in the order in which they feed each other.
ORDER = (*PRIMITIVE_STAGES, "compute")


@dataclass
class Loose:
    """A loose uniform of the program."""

    type: Type  # the declared type, including opaque parts
    in_block: bool  # whether a part of it is stored in the default block
    offset: int  # bytes from the start of the default block
    location: int  # GL's location
    initial: Value  # the constant of its initializer


@dataclass
class ResourcePlan:
    """Sets, bindings, offsets and locations of a program."""

    # loose uniforms by name, in the order of the default block's members
    loose: dict[str, Loose] = field(default_factory=dict)
    # set and binding by kind and name
    slots: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    # location by stage and variable, for inputs and outputs without an explicit location
    locations: Locations = field(default_factory=dict)
    interface: GlInterface = field(default_factory=lambda: GlInterface((), (), (), (), 0, None, (), ()))


@dataclass
class _Item:
    """A resource before its binding is assigned; the same name in several stages is the same resource."""

    kind: str
    name: str
    type: Type
    binding: int | None
    length: int | None
    stages: list[str]


def plan(stages: Sequence[GlStage]) -> ResourcePlan:
    """Return the plan of a program.

    Raises PlanError: the stages declare the same name differently.
    """
    stages = sorted(stages, key=lambda stage: ORDER.index(stage.name) if stage.name in ORDER else len(ORDER))
    made = ResourcePlan()
    _place_loose(made, stages)
    counters, buffers = _counters(stages)
    items = [*buffers, *_items(stages)]
    _place(made, items)
    made.locations = locate(stages)
    size = max(
        (loose.offset + extent(loose.type)[0] for loose in made.loose.values() if loose.in_block), default=0
    )
    size = round_up(size, 16)
    made.interface = GlInterface(
        stages=tuple(stage.name for stage in stages),
        uniforms=tuple(_uniforms(made)),
        resources=tuple(_resources(made, items, stages, size)),
        counters=counters,
        default_block_size=size,
        local_size=_local_size(stages),
        attributes=located(made.locations, stages[0], "input") if stages[0].name == "vertex" else (),
        outputs=located(made.locations, stages[-1], "output") if stages[-1].name == "fragment" else (),
    )
    return made


# Loose uniforms ------------------------------------------------------------------------------------


def _place_loose(made: ResourcePlan, stages: Sequence[GlStage]) -> None:
    explicit: dict[str, int | None] = {}
    for stage in stages:
        for variable in stage.variables:
            if variable.kind != "loose" or not variable.used:
                continue
            initial = stage.initial(variable.id)
            known = made.loose.get(variable.name)
            if known is None:
                made.loose[variable.name] = Loose(variable.type, holds_data(variable.type), 0, -1, initial)
                explicit[variable.name] = variable.location
                continue
            if not same(known.type, variable.type):
                raise PlanError(
                    f"uniform {variable.name} is {known.type.glsl} in one stage and {variable.type.glsl} in "
                    f"the {stage.name} stage: declare the same type in both"
                )
            if None not in (known.initial, initial) and known.initial != initial:
                raise PlanError(f"uniform {variable.name} has different initializers in two stages")
            if known.initial is None:
                known.initial = initial
            explicit[variable.name] = (
                variable.location if explicit[variable.name] is None else explicit[variable.name]
            )
    _lay_out(made)
    taken = NumberAllocator()
    for name, location in explicit.items():
        if location is not None:
            made.loose[name].location = location
            taken.take(location, uniform_locations(made.loose[name].type))
    for loose in made.loose.values():
        if loose.location < 0:
            loose.location = taken.free(uniform_locations(loose.type))


def _lay_out(made: ResourcePlan) -> None:
    end = 0
    for loose in made.loose.values():
        if loose.in_block:
            size, alignment = extent(loose.type)
            loose.offset = round_up(end, alignment)
            end = loose.offset + size


def _uniforms(made: ResourcePlan) -> Iterator[LooseUniform]:
    for name, loose in made.loose.items():
        location = loose.location
        if not loose.in_block:
            continue
        for leaf in leaves(name, loose.type, loose.offset, loose.initial):
            yield replace(leaf, location=location)
            location += leaf.length or 1


# Resources -----------------------------------------------------------------------------------------


def _counters(stages: Sequence[GlStage]) -> tuple[tuple[AtomicCounter, ...], list[_Item]]:
    """Return the atomic counters and their buffers."""
    counters: dict[str, AtomicCounter] = {}
    buffers: dict[int, _Item] = {}
    for stage in stages:
        for variable in stage.variables:
            if variable.kind != "counter" or not variable.used:
                continue
            length = math.prod(dimensions(variable.type))
            binding, offset = variable.binding or 0, variable.offset or 0
            counter = AtomicCounter(
                variable.name, binding, offset, length if isinstance(variable.type, ArrayType) else None
            )
            if counters.setdefault(variable.name, counter) != counter:
                raise PlanError(
                    f"atomic counter {variable.name} has different bindings or offsets in two stages"
                )
            buffer = buffers.setdefault(
                binding,
                _Item("atomic_counter_buffer", counter_buffer(binding), variable.type, binding, None, []),
            )
            if stage.name not in buffer.stages:
                buffer.stages.append(stage.name)
    return tuple(counters.values()), list(buffers.values())


def counter_buffer(binding: int) -> str:
    """Return the plan's name for the counter buffer of a binding point."""
    return f"#{binding}"


def opaque_parts(name: str, kind: Type) -> Iterator[tuple[str, tuple[int, ...], Type]]:
    """Yield name, member indices and type of each opaque part of a loose uniform.

    The type is an array with the dimensions of all arrays that contain the part.
    """

    def visit(name: str, path: tuple[int, ...], kind: Type, lengths: tuple[int, ...]) -> Iterator[_Part]:
        lengths += dimensions(kind)
        inner = innermost(kind)
        if isinstance(inner, StructType):
            for index, member in enumerate(inner.members):
                yield from visit(f"{name}.{member.name}", (*path, index), member.type, lengths)
        elif holds_opaque(inner):
            for length in reversed(lengths):
                inner = ArrayType(inner, length, None)
            yield name, path, inner

    yield from visit(name, (), kind, ())


_Part = tuple[str, tuple[int, ...], Type]


def kind_of_opaque(kind: Type) -> str:
    """Return ``"image"`` or ``"sampler"``."""
    inner = innermost(kind)
    return "image" if isinstance(inner, ImageType) and inner.storage else "sampler"


def _items(stages: Sequence[GlStage]) -> list[_Item]:
    items: dict[tuple[str, str], _Item] = {}

    def add(stage: GlStage, kind: str, name: str, type_: Type, binding: int | None) -> None:
        length = math.prod(dimensions(type_)) if isinstance(type_, ArrayType) else None
        item = items.setdefault((kind, name), _Item(kind, name, type_, binding, length, []))
        if item.length != length or not _matches(item.type, type_):
            raise PlanError(f"{kind.replace('_', ' ')} {name} has different declarations in two stages")
        if None not in (item.binding, binding) and item.binding != binding:
            raise PlanError(f"{name} has binding {item.binding} in one stage and {binding} in another")
        item.binding = binding if item.binding is None else item.binding
        if stage.name not in item.stages:
            item.stages.append(stage.name)

    for stage in stages:
        for variable in stage.variables:
            if variable.kind == "loose" and variable.used:
                for name, _, part in opaque_parts(variable.name, variable.type):
                    add(stage, kind_of_opaque(part), name, part, None)
            elif (variable.kind in ("image", "sampler") and variable.used) or variable.kind.endswith(
                "_block"
            ):
                add(stage, variable.kind, variable.name, variable.type, variable.binding)
    return list(items.values())


def _matches(first: Type, second: Type) -> bool:
    """Return whether two declarations of a resource match, without regard to arrays."""
    return same(innermost(first), innermost(second))


def _place(made: ResourcePlan, items: Sequence[_Item]) -> None:
    """Assign set and binding to each resource; explicit bindings first."""
    taken = {number: NumberAllocator() for number in set(SETS.values())}
    if any(loose.in_block for loose in made.loose.values()):
        slot = SETS["default_block"], DEFAULT_BLOCK_BINDING
        made.slots["default_block", ""] = slot
        taken[slot[0]].take(slot[1], 1)
    for item in sorted(items, key=lambda item: (item.kind != "atomic_counter_buffer", item.binding is None)):
        numbers = taken[SETS[item.kind]]
        wanted = item.binding or 0
        if item.kind == "atomic_counter_buffer":
            wanted += COUNTER_BINDINGS
        made.slots[item.kind, item.name] = SETS[item.kind], numbers.free(1, wanted)


def _resources(
    made: ResourcePlan, items: Sequence[_Item], stages: Sequence[GlStage], size: int
) -> Iterator[Resource]:
    slot = made.slots.get(("default_block", ""))
    if slot is not None:
        users = tuple(
            stage.name
            for stage in stages
            if any(
                variable.kind == "loose" and variable.used and holds_data(variable.type)
                for variable in stage.variables
            )
        )
        yield Resource("default_block", "", -1, False, *slot, None, "", "", size, users)
    for item in items:
        kind = innermost(item.type)
        image = kind.image if isinstance(kind, SampledImageType) else kind
        is_counter = item.kind == "atomic_counter_buffer"
        yield Resource(
            kind=item.kind,
            name="" if is_counter else item.name,
            gl_binding=item.binding or 0,
            explicit=item.binding is not None,
            set=made.slots[item.kind, item.name][0],
            binding=made.slots[item.kind, item.name][1],
            length=item.length,
            type=kind.glsl if item.kind in ("image", "sampler") else "",
            format=image.format if isinstance(image, ImageType) and item.kind == "image" else "",
            size=_counter_bytes(stages, item.binding or 0)
            if is_counter
            else kind.fixed_size
            if isinstance(kind, StructType)
            else 0,
            stages=tuple(item.stages),
        )


def _counter_bytes(stages: Sequence[GlStage], binding: int) -> int:
    end = 0
    for stage in stages:
        for variable in stage.variables:
            if variable.kind == "counter" and variable.used and (variable.binding or 0) == binding:
                end = max(end, (variable.offset or 0) + 4 * math.prod(dimensions(variable.type)))
    return end


def _local_size(stages: Sequence[GlStage]) -> tuple[int, int, int] | None:
    for stage in stages:
        for entry in stage.module.reflection.entry_points:
            if stage.name == "compute" and entry.local_size is not None:
                return entry.local_size.resolve()
    return None
