"""Shader of a litmus test: many instances at the same time; each invocation has both roles.

Invocation i has the first role of instance i and the second role of another invocation's instance. For each
round a *plan* from the host has the distance to that invocation, the layout of the locations in memory, and
the order of the two roles.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import marks
from vkgroup.conformance.compute_model.litmus_table import Litmus, LitmusAccess

Words = NDArray[np.uint32]

LAYOUTS = 4
"""Number of layouts of the locations; see `cell_of`."""

APART = 8
"""Words from location to location in the widest layout: 32 bytes."""

PATIENCE = 512
"""Maximum number of times that an invocation polls its partner's progress, over all rounds."""

IMAGE_WIDTH = 256
"""Texels in a row of an image of cells."""

ORDERS = (0, 1, 2, 4, 8, 9)
"""Orders of the roles: 0 first role first, 1 second role first, both by branches in a loop; 2 accesses of
both roles alternately; 4 alternate invocations start with different roles; 8 and 9 as 0 and 1, but in
straight-line code, which a compiler can reorder most freely."""

RESULT_WORDS = 4
"""Words of results of a trial: registers r0 and r1, last values of x and y."""

_RESULT = {"r0": 0, "r1": 1, "x": 2, "y": 3}


@dataclass(frozen=True)
class Setting:
    """The sizes of a litmus program."""

    subgroup: int  # invocations of a block; a device's subgroup size
    local: int  # invocations of a workgroup, a multiple of `subgroup`
    #: `groups`, `rounds`: workgroups, a power of two, and trials of each instance one after the other.
    groups: int
    rounds: int

    @property
    def instances(self) -> int:
        """Instances of the test in one round."""
        return self.local * self.groups

    @property
    def trials(self) -> int:
        """Trials of the whole dispatch."""
        return self.instances * self.rounds


def cells_of_round(instances: int) -> int:
    """Return the number of words of one round's locations."""
    return 2 * instances * APART


def cell_of(location: int, instance: Words, instances: int, layout: Words) -> Words:
    """Return the word of location 0 (x) or 1 (y); must equal the shader's function.

    Layout 0 puts x and y side by side, 1 all x before all y, 2 each location by itself, 3 all x before all y
    and neighbouring instances far apart. `instances` is the number in one round, a power of two.
    """
    scattered = (instance * np.uint32(37)) & np.uint32(instances - 1)
    choices = [
        instance * 2 + location,
        location * instances + instance,
        (instance * 2 + location) * APART,
        location * instances + scattered,
    ]
    return np.choose(layout, choices).astype(np.uint32)


_CELL_OF = """
uint cell_of(uint location, uint instance, uint layout_) {
    if (layout_ == 0u) return instance * 2u + location;
    if (layout_ == 1u) return location * SPAN + instance;
    if (layout_ == 2u) return (instance * 2u + location) * APART;
    return location * SPAN + ((instance * 37u) & (SPAN - 1u));
}
"""

# memory → declaration, {coherent} filled in
_DECLARATIONS = {
    "shared": "shared uint cells_shared[2u * LOCAL * APART];",
    "buffer": "layout(std430, binding = 2) {coherent}buffer CellsBuffer {{ uint cells_buffer[]; }};",
    "image": "layout(r32ui, binding = 3) {coherent}uniform uimage2D cells_image;",
}

_TEXEL = f"ivec2(int(({{cell}}) % {IMAGE_WIDTH}u), int(({{cell}}) / {IMAGE_WIDTH}u))"

# (memory, whether by atomics) → write of {value} to {cell}, read of {cell}
_ACCESS = {
    ("words", True): ("atomicExchange({cells}[{cell}], {value});", "atomicOr({cells}[{cell}], 0u)"),
    ("words", False): ("{cells}[{cell}] = {value};", "{cells}[{cell}]"),
    ("image", True): (
        "imageAtomicExchange({cells}, " + _TEXEL + ", {value});",
        "imageAtomicOr({cells}, " + _TEXEL + ", 0u)",
    ),
    ("image", False): (
        "imageStore({cells}, " + _TEXEL + ", uvec4({value}));",
        "imageLoad({cells}, " + _TEXEL + ").x",
    ),
}

_RENDEZVOUS = [
    "if (asked.x != 0u) {",
    "    // Start together if the partner runs now, which nothing guarantees.",
    "    atomicMax(progress[group * (LOCAL / SUBGROUP) + block], number + 1u);",
    "    uint watched = other_group * (LOCAL / SUBGROUP) + other_block;",
    "    while (patience > 0u && atomicOr(progress[watched], 0u) <= number) --patience;",
    "}",
]


@dataclass(frozen=True)
class Writing:
    """Variant of a test: memory, barrier and kind of accesses."""

    memories: tuple[str, str]  # memory of x and of y: ``"shared"``, ``"buffer"`` or ``"image"``
    barrier: str  # name of the function between two accesses; empty for none
    #: ``"atomic"``, ``"guarded"`` (x by plain accesses, read only where y was seen), ``"coherent"`` (plain
    #: accesses), ``"incoherent"`` (plain accesses without the qualifier).
    flavour: str

    @property
    def is_shared(self) -> bool:
        """Whether a location lies in shared memory, so that a round ends with a barrier of the workgroup."""
        return "shared" in self.memories

    def memory(self, location: str) -> str:
        """Return the memory of a location."""
        return self.memories["xy".index(location)]

    def access(self, access: LitmusAccess, role: int) -> str:
        """Return the statement of an access in a role."""
        memory = self.memory(access.location)
        atomic = self.flavour == "atomic" or (self.flavour == "guarded" and access.location == "y")
        write, read = _ACCESS["image" if memory == "image" else "words", atomic]
        place = {"cells": f"cells_{memory}", "cell": f"{access.location}_{role}"}
        if access.value is not None:
            return write.format(**place, value=f"stamp_{role} + {access.value}u")
        statement = f"{access.register} = {read.format(**place)};"
        if self.flavour == "guarded" and access.location == "x":
            return f"if (r0 == stamp_{role} + 1u) {statement}"
        return statement


def source(test: Litmus, writing: Writing, setting: Setting) -> str:
    """Return the GLSL of a litmus test in a variant."""
    memories = dict.fromkeys(writing.memories)
    coherent = "" if writing.flavour == "incoherent" else "coherent "
    span = setting.local if writing.is_shared else setting.instances
    lines = [
        "#version 430",
        f"// The litmus test {test.name}, {setting.trials} times: {test.sentence}.",
        f"layout(local_size_x = {setting.local}) in;",
        "// For each round: bits of the partner's workgroup that differ, subgroups and lanes on to it, then",
        "// layout, order of roles and salt of the marks.",
        "layout(std430, binding = 0) readonly buffer Plan { uvec4 plan[]; };",
        "// For each trial: what r0 and r1 read, and the last values of x and y that are in shared memory,",
        "// combined with marks.",
        "layout(std430, binding = 1) writeonly buffer Results { uint results[]; };",
        "// For each subgroup: the rounds that it has begun.",
        "layout(std430, binding = 4) coherent buffer Progress { uint progress[]; };",
        f"const uint LOCAL = {setting.local}u, SUBGROUP = {setting.subgroup}u, GROUPS = {setting.groups}u;",
        f"const uint INSTANCES = {setting.instances}u, ROUNDS = {setting.rounds}u, APART = {APART}u;",
        "// Instances that share an area of memory: of a workgroup or of the dispatch.",
        f"const uint SPAN = {span}u;",
        *(_DECLARATIONS[memory].format(coherent=coherent) for memory in memories),
        _CELL_OF,
        "void main() {",
        "    uint local = gl_LocalInvocationIndex, group = gl_WorkGroupID.x;",
        "    uint block = local / SUBGROUP, lane = local % SUBGROUP;",
        f"    uint patience = {PATIENCE}u;",
        "    for (uint number = 0u; number < ROUNDS; ++number) {",
        *(f"        {line}" for line in _round(test, writing)),
        "    }",
        "}",
    ]
    return "\n".join(lines)


def _round(test: Litmus, writing: Writing) -> list[str]:
    """Return the statements of one round."""
    shared = writing.is_shared
    lines = [
        "uvec4 asked = plan[number];",
        "uint layout_ = asked.w & 15u, order = asked.w >> 4u & 15u, salt = asked.w >> 8u;",
        "uint other_block = (block + asked.y) % (LOCAL / SUBGROUP);",
        "uint other_local = other_block * SUBGROUP + (lane + asked.z) % SUBGROUP;",
        "uint other_group = group ^ asked.x;",
        "uint trial_0 = number * INSTANCES + group * LOCAL + local;",
        "uint trial_1 = number * INSTANCES + other_group * LOCAL + other_local;",
        "uint stamp_0 = trial_0 * 4u, stamp_1 = trial_1 * 4u;",
        "uint r0 = 0u, r1 = 0u;",
    ]
    for role, prefix in enumerate(("", "other_")):
        instance = f"{prefix}local" if shared else f"({prefix}group * LOCAL + {prefix}local)"
        for which, location in enumerate("xy"):
            # A separate area for each round and, if some location is in shared memory, for each workgroup.
            base = ""
            if writing.memory(location) != "shared":
                base = "number * (2u * INSTANCES * APART) + "
                if shared:
                    base += f"{prefix}group * (2u * LOCAL * APART) + "
            lines.append(f"uint {location}_{role} = {base}cell_of({which}u, {instance}, layout_);")
    if shared:
        lines.append("for (uint i = local; i < 2u * LOCAL * APART; i += LOCAL) cells_shared[i] = 0u;")
        lines.append("barrier();")
    lines += _RENDEZVOUS + _weave(test, writing)
    for register in test.registers:
        role = next(n for n in (0, 1) if any(access.register == register for access in test.roles[n]))
        lines.append(_store(role, register, register))
    if not test.registers:
        # Nothing is read; the mark alone shows that the trial ran.
        lines.append(_store(0, "r0", "0u"))
    if shared:
        lines.append("barrier();")
        for location in test.finals:
            if writing.memory(location) == "shared":
                lines.append(_store(0, location, f"cells_shared[{location}_0]"))
        lines.append("barrier();")
    return lines


def _store(role: int, name: str, value: str) -> str:
    """Return the statement that stores a result of a role's trial, combined with its mark."""
    place = f"trial_{role} * {RESULT_WORDS}u + {_RESULT[name]}u"
    return f"results[{place}] = ({value}) ^ {marks.glsl(place, 'salt')};"


def _weave(test: Litmus, writing: Writing) -> list[str]:
    """Return the accesses of both roles, in the order that the plan selects."""
    fence = [f"{writing.barrier}();"] if writing.barrier else []
    plain = [
        [writing.access(access, role) for access in accesses] for role, accesses in enumerate(test.roles)
    ]
    roles = [_joined([[line] for line in lines], fence) for lines in plain]
    in_turns = _joined([[line for line in step if line] for step in zip_longest(*plain)], fence)
    straight = [_joined([first, second], fence) for first, second in (roles, reversed(roles))]
    return [
        "if (order == 2u) {",
        *(f"    {line}" for line in in_turns),
        "} else if (order == 8u) {",
        *(f"    {line}" for line in straight[0]),
        "} else if (order == 9u) {",
        *(f"    {line}" for line in straight[1]),
        "} else {",
        "    // With order 4 every other invocation begins with the other role.",
        "    for (uint turn = 0u; turn < 2u; ++turn) {",
        "        if (((turn + order + (local & (order >> 2u))) & 1u) == 0u) {",
        *(f"            {line}" for line in roles[0]),
        "        } else {",
        *(f"            {line}" for line in roles[1]),
        "        }",
        "    }",
        "}",
    ]


def _joined(steps: list[list[str]], fence: list[str]) -> list[str]:
    """Return the statements of steps with a barrier between each two."""
    lines: list[str] = []
    for number, step in enumerate(steps):
        lines += [*(fence if number else []), *step]
    return lines
