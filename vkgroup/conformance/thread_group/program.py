"""Program of a batch: its shader, the run on a device, and the recorded warps and executions of each slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence, marks
from vkgroup.conformance.arrays import POISON, Flags, Indices, Words
from vkgroup.conformance.evidence import Fault
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.instances import lane_faults
from vkgroup.conformance.recording import WRITE_NOTHING, Recorder, unrecorded
from vkgroup.conformance.thread_group.cases import FLOWS, OBSERVATIONS, ThreadGroupAxes, WarpFlow
from vkgroup.spec.limits import LARGEST_WARP
from vkgroup.spec.thread_group_operations import THREAD_GROUP_OPERATIONS
from vkgroup.spec.types import TYPES

WIDTH, HEIGHT = 32, 16
"""Pixels of a draw: even, so that helper threads lie inside the image."""

VERTICES = 256
GROUPS = 3
LOCAL_SIZE, PARTIAL_LOCAL_SIZE = 64, 37

RECORD = ("recorded", "lane", "size", "warp", "present")
"""Planes that every invocation fills at the start: 1, its id, the warp's size, a number that the warp shares,
and the ballot of all threads."""

SLOT = ("executed", "active", "after")
"""Planes of each slot before the results: 1, and the ballots of the threads that execute it, before and
after the results: a device may end helper threads in between, when no quad operation needs them."""

_OPERANDS = ("one", "two")

_VALUES = 9
"""Numbers of each thread: four components of the swizzled value, four of the unswizzled one, and one whose
sign is the condition of a ballot."""


@dataclass(frozen=True)
class ThreadGroupEntry:
    """A case in a program: the planes of its results, of each slot, begin at `at`."""

    case: ThreadGroupAxes
    at: int
    planes: int


@dataclass(frozen=True)
class ThreadGroupProgram:
    """A shader with its inputs."""

    entries: list[ThreadGroupEntry]  # the cases
    #: `stage`, `flow`, `coverage`: what all cases share.
    stage: str
    flow: WarpFlow
    coverage: str
    recorder: Recorder  # the recorder of the invocations
    slot_planes: int  # planes of one slot
    source: str  # GLSL of OpenGL
    inputs: NDArray[np.float32]  # (LARGEST_WARP, 9) float32, the numbers of threads by their ids

    def slot_at(self, slot: int) -> int:
        """Return the first plane of a slot."""
        return len(RECORD) + slot * self.slot_planes


def build(cases: list[ThreadGroupAxes], seed: int) -> ThreadGroupProgram:
    """Make the program of cases that share stage, flow and coverage."""
    first, flow = cases[0], FLOWS[cases[0].flow]
    entries, at = [], len(SLOT)
    for case in cases:
        entries.append(ThreadGroupEntry(case, at, len(_words(case))))
        at += entries[-1].planes
    recorder = _recorder(first.stage, flow, at)
    source = _source(recorder, flow, entries, at, seed)
    return ThreadGroupProgram(entries, first.stage, flow, first.coverage, recorder, at, source, _inputs(seed))


def _recorder(stage: str, flow: WarpFlow, slot_planes: int) -> Recorder:
    """Return the recorder of a program; its planes of recorded and executed flags are initially zero."""
    slots = len(flow.executes)
    planes = len(RECORD) + slots * slot_planes
    zeroed = (0, *(len(RECORD) + slot * slot_planes for slot in range(slots)))
    if stage == "compute":
        local_size = PARTIAL_LOCAL_SIZE if flow.partial else LOCAL_SIZE
        return Recorder(stage, planes, (GROUPS * local_size,), zeroed, groups=GROUPS)
    if stage == "vertex":
        return Recorder(stage, planes, (VERTICES,), zeroed)
    return Recorder(stage, planes, (WIDTH * HEIGHT,), zeroed, size=(WIDTH, HEIGHT))


def _inputs(seed: int) -> NDArray[np.float32]:
    """Return the values of the shader's `value`: eighths of integers below 2^19, with exact sums."""
    word = np.arange(LARGEST_WARP * _VALUES, dtype=np.uint32) + np.uint32(seed * 288 & 0xFFFFFFFF)
    word = word * np.uint32(2654435761)
    word = (word ^ word >> np.uint32(15)) * np.uint32(2246822519)
    integers = (word >> np.uint32(12)).astype(np.int64) - (1 << 19)
    return (integers.astype(np.float32) / np.float32(8)).reshape(LARGEST_WARP, _VALUES)


def _words(case: ThreadGroupAxes) -> list[str]:
    """Return the GLSL of each word that a case records."""
    if case.operation in OBSERVATIONS:
        return list(OBSERVATIONS[case.operation].code)
    if case.type:
        return ["floatBitsToUint(found)"] if case.type == "float" else [
            f"floatBitsToUint(found.{component})" for component in "xyzw"[: TYPES[case.type].components]
        ]  # fmt: skip
    operation = THREAD_GROUP_OPERATIONS[case.operation]
    call = operation.name
    if operation.is_function:
        call += "(value(8u) < 0.0)" if operation.types else "()"
    return [f"uint({call})" if operation.result == TYPES["bool"] else call]


def _operand(type_: str, first: int) -> str:
    components = ", ".join(f"value({first + component}u)" for component in range(TYPES[type_].components))
    return f"{type_}({components})"


def _salt(case: ThreadGroupAxes, number: int) -> int:
    """Return the salt of the marks of a word that a case records."""
    return marks.salt_of(*case, str(number))


def _observe(entry: ThreadGroupEntry) -> str:
    """Return the GLSL that records a case's results in the planes from `base` on."""
    case = entry.case
    lines = []
    if case.type:
        numbers = range(1 + _OPERANDS.index(case.operands))
        operands = ", ".join(_operand(case.type, 4 * number) for number in numbers)
        lines.append(f"{case.type} found = {case.operation}({operands});")
    for number, word in enumerate(_words(case)):
        mark = marks.glsl("index", _salt(case, number))
        lines.append(f"record(base + {entry.at + number}u, ({word}) ^ {mark});")
    return "{ " + " ".join(lines) + " }"


def _source(
    recorder: Recorder, flow: WarpFlow, entries: list[ThreadGroupEntry], slot_planes: int, seed: int
) -> str:
    observe = "\n        ".join(_observe(entry) for entry in entries)

    def placed(code: str) -> str:
        for slot in ("0u", "1u", "trip"):
            here = (
                f"\n        uint base = {len(RECORD)}u + {slot} * {slot_planes}u;"
                "\n        record(base, 1u); record(base + 1u, subgroupBallot(true).x);"
                f"\n        {observe}"
                "\n        record(base + 2u, subgroupBallot(true).x);\n    "
            )
            code = code.replace(f"@OBSERVE({slot})", f"{{{here}}}")
        return code

    # The warp's number and ballot come from KHR_shader_subgroup; the built-ins are compared with them.
    return f"""#version 430
#extension GL_NV_shader_thread_group : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
// Records what the built-ins of NV_shader_thread_group give, executed {flow.sentence}.
{recorder.declaration}
layout(std430, binding = 0) buffer Outputs {{ uint outputs[]; }};
uint lane, index;
// A number that depends on the thread alone. No memory holds it: what helper threads load is another matter.
float value(uint number) {{
    uint word = (lane * {_VALUES}u + number + {seed * 288 & 0xFFFFFFFF}u) * 2654435761u;
    word = (word ^ word >> 15) * 2246822519u;
    return float(int(word >> 12) - 524288) * 0.125;
}}
{recorder.function}
{placed(flow.function)}
void main() {{
    lane = gl_SubgroupInvocationID;
    index = {recorder.index("gl_VertexID")};
    uint warp = subgroupBroadcastFirst(index);
    record(0u, 1u); record(1u, lane); record(2u, gl_SubgroupSize); record(3u, warp);
    record(4u, subgroupBallot(true).x);
    {WRITE_NOTHING[recorder.stage]}
    {placed(flow.code)}
}}
"""


_CORNERS = {
    "whole": ((-1.0, -1.0), (3.0, -1.0), (-1.0, 3.0)),
    # The long edge runs through quads at every place that an edge can have in them.
    "edge": ((-1.0, -1.0), (0.93, -1.0), (-1.0, 0.87)),
}

_PLAIN_FRAGMENT = """#version 430
// Of points whose vertices are what is judged.
layout(location = 0) out uint color;
void main() { color = 1u; }
"""


def run(executor: Executor, program: ThreadGroupProgram) -> NDArray[np.uint32]:
    """Run a program; return its outputs without marks, (planes, invocations)."""
    module = executor.compile(program.source, stage=program.stage, dialect="gl")
    draw: dict[str, Any] = {}
    if program.stage == "vertex":
        draw["fragment"] = executor.compile(_PLAIN_FRAGMENT, stage="fragment", dialect="gl")
    elif program.stage == "fragment":
        draw["vertices"] = {"position": np.array(_CORNERS[program.coverage], np.float32)}
    words, _ = program.recorder.run(executor, module, **draw)
    places = np.arange(words[0].size).reshape(words[0].shape)
    for slot in range(len(program.flow.executes)):
        for entry in program.entries:
            for number in range(entry.planes):
                plane = program.slot_at(slot) + entry.at + number
                words[plane] ^= marks.marks(places, _salt(entry.case, number))
    return words


@dataclass(frozen=True)
class Executions:
    """The executions of one slot, one invocation per row."""

    slot: int  # its number
    #: `index`, `lane`, `warp`: (n,) the invocation, its id in the warp, the warp's number.
    index: Indices
    lane: Indices
    warp: Indices
    company: Words  # (n,) the threads of the warp that left a record
    mask: Words  # (n,) the ballot of those that executed the slot together
    active: Flags  # (n, size) its bits
    ended: Words  # (n,) the bits of those that executed before the results and not after them
    helper: Flags  # (n, size) the helper threads of the own quad: those without a record
    left_out: Flags  # (n, size) helper threads that the device's ballots leave out, as Vulkan allows
    expected: Flags  # (size,) the threads that reach the slot
    results: Words  # (slot planes, n) the records

    @property
    def executing(self) -> Flags:
        """The threads that execute the slot by the document, which counts helper threads: (n, size)."""
        return self.active | self.left_out & self.expected

    @property
    def unseen(self) -> Flags:
        """Whether the quad diverges only because of helper threads that ballots leave out, (n,).

        The shader cannot detect this on such a device.
        """
        quad = np.arange(self.active.shape[1]) // 4 == self.lane[:, None] // 4
        others = (self.active | self.left_out | ~quad).all(axis=1)
        return np.asarray(others & (self.left_out & ~self.expected).any(axis=1))


def _bits_of(mask: Words, size: int) -> Flags:
    """Return the bits of masks (n,) as (n, size)."""
    return np.asarray(mask[:, None] >> np.arange(size, dtype=np.uint32) & 1 == 1)


def layout_faults(program: ThreadGroupProgram, outputs: Words, size: int) -> list[str]:
    """Return contradictions in the recorded lanes and warps; empty if there are none."""
    recorded = outputs[0] == 1
    if absent := unrecorded(program.stage, len(recorded), int(recorded.sum())):
        return [absent]
    lane, sizes = outputs[1, recorded], outputs[2, recorded]
    if faults := lane_faults(lane, sizes, size):
        return faults
    if (outputs[: len(RECORD), recorded] == POISON).any():
        return ["an invocation recorded where it is in part"]
    return []


def executions(program: ThreadGroupProgram, outputs: Words, slot: int, size: int) -> Executions:
    """Return the executions of a slot from the records."""
    at = program.slot_at(slot)
    index = np.flatnonzero((outputs[0] == 1) & (outputs[at] == 1))
    lane = outputs[1, index].astype(np.int64)
    company = _company(outputs)[index]
    quad = np.arange(size) // 4 == lane[:, None] // 4
    helper = quad & ~_bits_of(company, size) & (program.stage == "fragment")
    present = _bits_of(outputs[4, index], size)
    mask = outputs[at + 1, index]
    return Executions(
        slot=slot,
        index=index,
        lane=lane,
        warp=outputs[3, index].astype(np.int64),
        company=company,
        mask=mask,
        active=_bits_of(mask, size),
        ended=mask & ~outputs[at + 2, index],
        helper=helper,
        left_out=helper & ~present,
        expected=program.flow.executing(slot, size),
        results=outputs[at : at + program.slot_planes, index],
    )


def _company(outputs: Words) -> Words:
    """Return for each invocation the threads of its warp that left a record, (invocations,)."""
    recorded = outputs[0] == 1
    # A pixel may be the first of two warps, where a device clips a triangle into two.
    warps = np.where(recorded, outputs[3:5].astype(np.uint64), 0)
    _, warp = np.unique(warps[0] << np.uint64(32) | warps[1], return_inverse=True)
    threads = np.zeros(int(warp.max()) + 1, np.uint32)
    np.bitwise_or.at(threads, warp[recorded], np.uint32(1) << outputs[1, recorded])
    return np.asarray(threads[warp])


def activity_fault(program: ThreadGroupProgram, executed: Executions) -> Fault | None:
    """Return the first contradiction in the active threads; None if there is none."""
    own = executed.active[np.arange(len(executed.lane)), executed.lane]
    if not own.all():
        words = f"{int((~own).sum())} invocations are not in the mask of active threads that they got"
        return _fault(executed, words, int(np.argmin(own)), ~own)
    strays = executed.active & ~executed.expected
    if strays.any() and not program.flow.demotes:
        row, thread = np.argwhere(strays)[0]
        words = f"thread {thread} is in the mask 0x{executed.mask[row]:x} of code that it does not execute"
        return _fault(executed, words, int(row), np.any(strays, axis=1))
    if program.stage == "vertex":
        # A vertex may be shaded more than once, so records of a warp need not be complete.
        return None
    return _company_fault(program, executed)


def _company_fault(program: ThreadGroupProgram, executed: Executions) -> Fault | None:
    """Compare each mask with the invocations that recorded it; helper threads record nothing."""
    met: dict[tuple[int, int, int], int] = {}
    keys = list(zip(executed.warp.tolist(), executed.company.tolist(), executed.mask.tolist(), strict=True))
    for key, lane in zip(keys, executed.lane.tolist(), strict=True):
        met[key] = met.get(key, 0) | 1 << lane
    if (lost := executed.ended & executed.company != 0).any():
        words = "a mask lost threads between two ballots of straight code"
        return _fault(executed, words, int(np.argmax(lost)), lost)
    for key, recorded in met.items():
        _, company, mask = key
        if mask & ~recorded & company and not program.flow.demotes:
            words = f"the mask 0x{mask:x} names threads that did not execute with 0x{recorded:x}"
        elif mask & ~company and program.stage != "fragment":
            words = f"the mask 0x{mask:x} names threads beyond those of the warp, 0x{company:x}"
        elif program.flow.uniform and recorded != company:
            words = f"uniform control flow parted 0x{recorded:x} from 0x{company:x}"
        else:
            continue
        return _fault(executed, words, keys.index(key), np.array([other == key for other in keys]))
    return None


def _fault(executed: Executions, words: str, row: int, wrong: Flags) -> Fault:
    """Return a fault with the masks that the warp of execution `row` got."""
    same = np.flatnonzero((executed.warp == executed.warp[row]) & (executed.company == executed.company[row]))
    lane, size = executed.lane[same], executed.active.shape[1]
    least = np.eye(size, dtype=np.bool_)[lane]
    most = np.broadcast_to(executed.expected, least.shape)
    there = np.zeros(size, np.bool_)
    there[lane] = True
    rows = {
        "invocation": map(str, executed.index[same].tolist()),
        "got": map(hex, executed.mask[same].tolist()),
    }
    masks = [
        evidence.mask_of("sent here", executed.expected),
        evidence.mask_of("recorded it", there),
        *evidence.masks_of(lane, executed.active[same], least, most, told=False),
    ]
    where = f"warp {executed.warp[row]}"
    lanes = evidence.of_lanes(where, lane, wrong[same], rows, size=size, slot=executed.slot, masks=masks)
    return Fault(words, lanes)
