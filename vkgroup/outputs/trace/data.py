"""The data of a trace's page: steps as small lists of numbers, and their values in one block of bytes."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.fields import Field, fields_in, fields_of
from vkgroup.check.findings import SourceLocations
from vkgroup.outputs.highlight import highlighted
from vkgroup.outputs.trace.names import ValueNames
from vkgroup.reference.dtypes import widened
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.execution.machine import Machine
from vkgroup.reference.interpreter.execution.recorder import TracedAccess, TracedStep, TracedValue
from vkgroup.reference.interpreter.operations.images import ImageMemory
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.values.value import HARD
from vkgroup.reference.trace import WorkgroupTrace
from vkgroup.spirv import Instruction, Module, StructType, grammar
from vkgroup.spirv.chains import STORES, VARIABLES

_AXES = "xyzw"
_LONGEST = 60
"""Most characters of a line that is a name."""

_KINDS = ("read", "write", "atomic")


@dataclass(frozen=True)
class Shown:
    """One trace of a page: of a finding, or of a run.

    Attributes
    ----------
    title, message, help : the kind of the finding, what happened and the remedy; empty without a finding.
    setting : the subgroup size and the other choices of the run, in words.
    trace : the recorded steps.
    marked : positions of the instructions that the finding names, each with what it says of them.
    element : of a difference, the name of the number that differs.
    """

    title: str
    message: str
    help: str
    setting: str
    trace: WorkgroupTrace
    marked: Sequence[tuple[int, str]] = ()
    element: str = ""


class ArrayBlock:
    """Arrays one after the other; equal ones are stored once."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._known: dict[bytes, int] = {}
        self._size = 0

    def put(self, array: npt.NDArray[Any]) -> int:
        """Add an array, and return where it begins, in bytes; a multiple of 8."""
        data = np.ascontiguousarray(array).tobytes()
        if data not in self._known:
            padded = data + bytes(-len(data) % 8)
            self._known[data] = self._size
            self._parts.append(padded)
            self._size += len(padded)
        return self._known[data]

    def text(self) -> str:
        """Return everything, compressed, as base64."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 6)).decode()


def plain(array: npt.NDArray[Any]) -> tuple[str, npt.NDArray[Any]]:
    """Return the page's name for a type of numbers, and the numbers in that type."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "V":
        # Encodings that NumPy lacks: bfloat16, and floats of 8 bits, which stay bits.
        bits = array.view(f"u{size}")
        return ("f32", widened(bits)) if size == 2 else ("u32", bits.astype(np.uint32))
    if kind == "b":
        return "bool", array.astype(np.uint8)
    if kind == "f":
        return ("f64", array) if size == 8 else ("f32", array.astype(np.float32))
    return f"{kind}{64 if size == 8 else 32}", array.astype(f"{kind}{8 if size == 8 else 4}")


def page_data(module: Module, shader: str, language: str, shown: Sequence[Shown]) -> dict[str, Any]:
    """Return the data of a page with some traces of a module.

    `language`: of the source, as for `highlighted`.
    """
    places, block = SourceLocations(module, shader), ArrayBlock()
    traces = [_trace(each, block) for each in shown]
    positions = {position for each in traces for position in each["positions"]}
    positions.update(position for each in shown for position, _ in each.marked)
    names = ValueNames(module, places)
    named = {position: name for position in positions if (name := names[position])}
    return {
        "shader": shader,
        **_sources(places, positions, language),
        "code": {position: places.assembly.get(position, "") for position in positions},
        "names": {**_names_of_lines(places, positions), **named},
        "barriers": [position for position in positions if _is_barrier(places.by_position[position], module)],
        "traces": traces,
        "block": block.text(),
    }


def _names_of_lines(places: SourceLocations, positions: Iterable[int]) -> dict[int, str]:
    """Return the text of each line that stores nothing, as the name of its last value.

    Compilers of HLSL remove the variables of functions: the line stands for the variable that it sets.
    """
    last: dict[tuple[str, int], int] = {}
    stores = set[tuple[str, int]]()
    for position in sorted(positions):
        entry, place = places.by_position[position], places[position]
        where = place.file, place.line
        if entry.name in STORES:
            stores.add(where)
        elif place.line and entry.result_id and entry.name not in VARIABLES:
            last[where] = position
    texts = {
        position: places[position].text.strip() for where, position in last.items() if where not in stores
    }
    return {position: f"line {places[position].line}: {text[:_LONGEST]}" for position, text in texts.items()}


def _is_barrier(entry: Instruction, module: Module) -> bool:
    """Return whether an instruction is a barrier of the workgroup, not of the subgroup."""
    scope = module.declarations.constants.get(entry.operands[0]) if entry.name == "OpControlBarrier" else None
    return scope is not None and scope.evaluate() == grammar().number("Scope", "Workgroup")


def _sources(places: SourceLocations, positions: Iterable[int], language: str) -> dict[str, Any]:
    """Return the source files in coloured lines, the assembly as the last, and the place of each position."""
    files: list[dict[str, Any]] = []
    at: dict[tuple[str, int], tuple[int, int]] = {}
    for file, source in places.lines.texts.items():
        lines = list(source.lines())
        for number, (place, _, _) in enumerate(lines):
            at.setdefault((place.file, place.number), (len(files), number))
        text = "\n".join(line for _, line, _ in lines)
        numbers = [place.number for place, _, _ in lines]
        files.append({"name": file, "lines": highlighted(text, language), "numbers": numbers})
    assembly = _assembly(places)
    row_of = {position: row for row, position in enumerate(assembly)}
    code = highlighted("\n".join(assembly.values()), "spirv")
    files.append({"name": "SPIR-V", "lines": code, "numbers": list(range(1, len(assembly) + 1))})
    where: dict[int, list[int]] = {}
    for position in positions:
        spot = places[position]
        found = at.get((spot.file, spot.line)) if spot.line else None
        where[position] = [*(found or (len(files) - 1, row_of.get(position, 0))), row_of.get(position, 0)]
    return {"files": files, "places": where}


def _assembly(places: SourceLocations) -> dict[int, str]:
    """Return the assembly of the functions by position, without debug information."""
    entries, left_out = places.by_position, re.compile(r"OpLine|OpNoLine|.*OpExtInst .* Debug")
    first = next((position for position, entry in entries.items() if entry.name == "OpFunction"), 0)
    return {
        position: text
        for position, text in places.assembly.items()
        if position >= first and not left_out.match(text)
    }


def _trace(shown: Shown, block: ArrayBlock) -> dict[str, Any]:
    """Return the data of one trace."""
    trace, recorder = shown.trace, shown.trace.recorder
    machine = recorder.machine
    assert machine is not None
    lanes = len(recorder.lane)
    sets: dict[bytes, int] = {}
    memories = _Memories(recorder.memories, machine, block)
    memories.find_elements(recorder.steps)
    steps: list[list[Any]] = []
    positions = set[int]()
    for step in recorder.steps:
        accesses = [found for each in step.accesses if (found := memories.access(each))]
        if step.number < 0 and not accesses:
            continue
        flags = np.zeros(lanes, np.bool_)
        flags[step.lanes] = True
        chosen = sets.setdefault(np.packbits(flags, bitorder="little").tobytes(), len(sets))
        operands = [_leaves(each, step, block) for each in step.operands]
        values = _leaves(step.value, step, block)
        steps.append([step.number, step.position, chosen, step.ending, values, accesses, operands])
        positions.add(step.position)
    while steps and steps[-1][0] < 0:
        # What other workgroups do after the last step changes nothing that is shown.
        steps.pop()
    width, height, _ = machine.arrangement.local_size
    index = recorder.local_index
    event = trace.event
    other = event.other_invocation if event is not None else None
    return {
        "title": shown.title,
        "message": shown.message,
        "help": shown.help,
        "setting": shown.setting,
        "workgroup": trace.focus.workgroup,
        "size": machine.arrangement.subgroup_size,
        "subgroup": recorder.subgroup.tolist(),
        "lane": recorder.lane.tolist(),
        "local": np.stack([index % width, index // width % height, index // (width * height)], -1).tolist(),
        "invocations": int(np.prod(machine.arrangement.local_size)),
        "total": trace.total,
        "steps": steps,
        "positions": sorted(positions),
        "sets": [base64.b64encode(flags).decode() for flags in sets],
        "memories": memories.to_json(),
        "focus": trace.step,
        "position": event.position if event is not None else trace.focus.position,
        "other": event.other_position if event is not None else -1,
        "accessed": [
            list(each.local) if each is not None and each.workgroup == trace.focus.workgroup else None
            for each in (event.invocation if event is not None else None, other)
        ],
        "marked": list(shown.marked),
        "origin": _origin_of(event),
        "element": shown.element,
        "memory": event.memory if event is not None else "",
        "othersLeftOut": recorder.others_left_out,
    }


def _origin_of(event: Event | None) -> list[int]:
    """Return the positions where an undefined value is read or made; none for other events."""
    if event is None or event.cause is None:
        return []
    return [position for position in (event.cause.read, event.cause.position) if position >= 0]


def _leaves(value: TracedValue, step: TracedStep, block: ArrayBlock) -> list[list[Any]]:
    """Return a value of a step by leaf: type, numbers, where they begin, uniform, where flags begin.

    A flag of 1 says that a number is undefined; -1 stands for no flags.
    """
    values = []
    for data, cause in zip(value.data, value.causes, strict=True):
        name, numbers = plain(data)
        flags = -1
        if cause is not None and (cause >= HARD).any():
            flags = block.put((cause >= HARD).astype(np.uint8))
        uniform = int(data.shape[1] == 1 and len(step.lanes) != 1)
        values.append([name, data.shape[0], block.put(numbers), uniform, flags])
    return values


Place = tuple[int, int]
"""Offset and size of an element, in bytes."""


class _Memories:
    """The elements of the memories that a workgroup accesses, each with its number and its name."""

    def __init__(self, memories: Sequence[Memory], machine: Machine, block: ArrayBlock) -> None:
        self._memories, self._machine, self._block = memories, machine, block
        self._elements: list[dict[Place, int]] = [{} for _ in memories]
        #: By memory and element: a field of the memory, and the place of the number in it.
        self._fields: list[dict[Place, tuple[Field, int]]] = [{} for _ in memories]

    def find_elements(self, steps: Iterable[TracedStep]) -> None:
        """Number the elements that invocations of the workgroup access, in ascending order."""
        touched: list[set[Place]] = [set() for _ in self._memories]
        for step in steps:
            for access in step.accesses:
                size = access.before.shape[1]
                own = np.unique(access.offset[access.who >= 0])
                touched[access.memory].update((offset, size) for offset in own.tolist())
        for number, places in enumerate(touched):
            self._elements[number] = {place: index for index, place in enumerate(sorted(places))}
            offsets = np.array([offset for offset, _ in places], np.int64)
            for field in self._fields_of(self._memories[number]):
                flat = field.offsets.reshape(-1)
                for place in np.flatnonzero(np.isin(flat, offsets)).tolist():
                    element = int(flat[place]), field.dtype.itemsize
                    self._fields[number].setdefault(element, (field, place))

    def access(self, access: TracedAccess) -> list[Any] | None:
        """Return an access: memory, kind, type, count, and where invocations, elements and numbers begin.

        None if no element of it is one that the workgroup accesses. Invocations of other workgroups stand as
        the complements of their numbers.
        """
        elements, size = self._elements[access.memory], access.before.shape[1]
        numbers = np.array([elements.get((offset, size), -1) for offset in access.offset.tolist()], np.int32)
        kept = numbers >= 0
        if not kept.any():
            return None
        dtype = self._dtype(access.memory, int(access.offset[np.argmax(kept)]), size)
        name, before = plain(np.ascontiguousarray(access.before[kept]).view(dtype)[:, 0])
        _, after = plain(np.ascontiguousarray(access.after[kept]).view(dtype)[:, 0])
        put = self._block.put
        arrays = (access.who[kept].astype(np.int32), numbers[kept], before, after)
        return [access.memory, _KINDS.index(access.kind), name, int(kept.sum()), *map(put, arrays)]

    def to_json(self) -> list[dict[str, Any]]:
        """Return name, kind and names of the elements of each memory."""
        return [
            {
                "name": memory.label,
                "kind": {"workgroup": "shared memory"}.get(memory.kind, memory.kind),
                "elements": [self._label(number, *place) for place in self._elements[number]],
            }
            for number, memory in enumerate(self._memories)
        ]

    def _fields_of(self, memory: Memory) -> Iterator[Field]:
        """Yield the fields of the variables in a memory; several shared variables may be in one."""
        machine, program = self._machine, self._machine.program
        for identifier, shared in machine.shared.items():
            if shared is memory:
                name, laid_out, _ = program.shared[identifier]
                yield from fields_in(name, laid_out, np.asarray(0, np.int64), 0)
        for binding in program.module.reflection.bindings:
            bound = machine.memories.get(binding.id)
            is_own = isinstance(bound, list) and any(each is memory for each in bound)
            if is_own and isinstance(binding.type, StructType):
                yield from fields_of(binding.type, memory.nbytes, binding.name)

    def _dtype(self, memory: int, offset: int, size: int) -> np.dtype[Any]:
        found = self._fields[memory].get((offset, size))
        if found is not None:
            return found[0].dtype
        image = self._memories[memory]
        if isinstance(image, ImageMemory) and image.format.dtype.itemsize == size:
            return image.format.dtype
        return np.dtype(f"u{size}")

    def _label(self, memory: int, offset: int, size: int) -> str:
        """Return the name of an element."""
        image = self._memories[memory]
        if isinstance(image, ImageMemory):
            texel, rest = divmod(offset, image.format.nbytes)
            width, height, _ = image.extents[0].tolist()
            component = f".{_AXES[rest // size % 4]}" if size < image.format.nbytes else ""
            return f"[{texel % width}, {texel // width % height}, {texel // (width * height)}]{component}"
        found = self._fields[memory].get((offset, size))
        return found[0].label(found[1]) if found is not None else f"byte {offset}"
