"""Recorder: planes of words in which the invocations of a compute, vertex or fragment shader record results.

`observed` and `description` are for shaders that only record. Their first planes, `RECORD`, identify the
invocation. The results of a family follow, written by ``record(plane, word)`` in GLSL. Invocations without a
record (helper invocations) are left out of the returned planes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from vkgroup.conformance import evidence, marks
from vkgroup.conformance.arrays import Flags, Indices, Words, poisoned
from vkgroup.conformance.comparison import Description, Index
from vkgroup.conformance.execute import Executor, run_stages
from vkgroup.conformance.support import lacking_operations, lacking_stages, lacking_stores
from vkgroup.device import Capabilities
from vkgroup.dispatch import DrawState
from vkgroup.spec.categories import Category
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spirv import Module

Rows = Mapping[str, Iterable[str | None]]

STAGES = ("compute", "vertex", "fragment")
"""The stages in which invocations record."""

WRITE_NOTHING = {
    "compute": "",
    "vertex": "gl_Position = vec4(0.0, 0.0, 0.0, 1.0);\n    gl_PointSize = 1.0;",
    "fragment": "color = 1u;",
}
"""GLSL of the outputs of a stage that only records."""

_PLAIN_FRAGMENT = """#version 460
// Of points whose vertices are what is recorded.
layout(location = 0) out uint color;
void main() { color = 1u; }
"""


@dataclass(frozen=True)
class Recorder:
    """Planes at binding 0 in which every invocation of a stage has a word."""

    stage: str  # one of `STAGES`
    planes: int  # number of planes
    shape: tuple[int, ...]  # shape of a plane; one word for each invocation
    zeroed: tuple[int, ...] = (0,)  # planes that hold zeros before the shader runs; the others hold `POISON`
    groups: int = 0  # workgroups of a dispatch
    size: tuple[int, int] = (1, 1)  # pixels of a draw in x and y

    @property
    def invocations(self) -> int:
        """Words of a plane."""
        return prod(self.shape)

    @property
    def function(self) -> str:
        """GLSL of ``record(plane, word)``, which writes the word of invocation `index`."""
        words = self.invocations
        return f"void record(uint plane, uint word) {{ outputs[plane * {words}u + index] = word; }}"

    @property
    def declaration(self) -> str:
        """GLSL of the workgroup's size, or of the output of fragments."""
        return {
            "compute": f"layout(local_size_x = {self.invocations // max(self.groups, 1)}) in;",
            "vertex": "",
            "fragment": "layout(location = 0) out uint color;",
        }[self.stage]

    def index(self, vertex: str = "gl_VertexIndex") -> str:
        """Return the GLSL of the invocation's index in a plane; `vertex` is GLSL's variable of the vertex."""
        return {
            "compute": "gl_GlobalInvocationID.x",
            "vertex": f"uint({vertex})",
            "fragment": f"uint(gl_FragCoord.y) * {self.size[0]}u + uint(gl_FragCoord.x)",
        }[self.stage]

    def run(
        self,
        executor: Executor,
        module: Module,
        bindings: Mapping[int, Any] | None = None,
        *,
        fragment: Module | None = None,
        **draw: Any,
    ) -> tuple[Words, Mapping[Any, Any]]:
        """Run a shader of the stage; return the planes, (planes, *shape), and the results of the draw.

        `fragment` is the fragment shader of a draw whose vertices record; by default one that does
        nothing.
        """
        blank = poisoned(self.planes, *self.shape)
        blank[list(self.zeroed)] = 0
        outputs = executor.buffer("records", blank.nbytes)
        outputs.write(blank)
        modules = {self.stage: module}
        arguments: dict[str, Any] = {"groups": self.groups} if self.groups else {"size": self.size, **draw}
        if self.stage == "vertex":
            modules["fragment"] = fragment or executor.plain(_PLAIN_FRAGMENT, "fragment")
            arguments |= {"count": self.invocations, "state": DrawState(topology="points")}
        results = run_stages(executor, self.stage, modules, arguments, {0: outputs, **(bindings or {})})
        return outputs.read(np.uint32, blank.size).reshape(blank.shape), results


RECORD = ("recorded", "lane", "subgroup")
"""The first planes: 1, gl_SubgroupInvocationID, and a number that the invocations of a subgroup share."""

WORKGROUPS, LOCAL_SIZE = 64, 128
_WIDTH, _HEIGHT, _VERTICES = 64, 32, 1024

_SUBGROUP = {
    "compute": "gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID",
    "vertex": "subgroupBroadcastFirst(index)",
    "fragment": "subgroupBroadcastFirst(index)",
}
"""GLSL of the number that the invocations of a subgroup share."""


def missing(stage: str, capabilities: Capabilities) -> list[str]:
    """Return the requirements for recording from a stage that a device lacks, by Vulkan's names."""
    needs = lacking_stages((stage,), capabilities)
    needs += lacking_operations(("basic",) if stage == "compute" else ("ballot", "basic"), capabilities)
    needs += lacking_stores(stage, capabilities)
    if stage != "compute" and capabilities.subgroup.size < QUAD_SIZE:
        needs.append(f"subgroups of at least {QUAD_SIZE} invocations, to draw")
    return needs


_OBSERVED = {"compute": WORKGROUPS * LOCAL_SIZE, "vertex": _VERTICES, "fragment": _WIDTH * _HEIGHT}
"""Invocations of `observed` by stage."""


def absence(stage: str, words: Words) -> str:
    """Return what is wrong with the number of invocations in the words of `observed`; "" if nothing is."""
    return unrecorded(stage, _OBSERVED[stage], words.shape[1])


def unrecorded(stage: str, required: int, recorded: int) -> str:
    """Return what is wrong with the number of invocations with a record; "" if nothing is.

    Fragments may lack records: one that is shaded more than once may overwrite a record in part.
    """
    absent = required - recorded
    if not recorded:
        return "no invocation recorded anything"
    if absent and stage != "fragment":
        return f"{absent} invocation{'s' * (absent != 1)} left no record"
    return ""


def observed(
    executor: Executor,
    stage: str,
    planes: int,
    title: str,
    body: str,
    *,
    extensions: Iterable[str] = (),
    declarations: str = "",
) -> Words:
    """Run a shader that only records; return (len(RECORD) + planes, invocations with a record).

    The shader combines what follows `RECORD` with marks, which the returned planes no longer have.

    `title` describes the shader. `body` has statements of `main`, which may use `index`, the
    invocation's number, and ``record(plane, word)``.
    """
    planes += len(RECORD)
    groups, size = (WORKGROUPS if stage == "compute" else 0), (_WIDTH, _HEIGHT)
    recorder = Recorder(stage, planes, (_OBSERVED[stage],), groups=groups, size=size)
    ballot = () if stage == "compute" else (Category.BALLOT.extension,)
    names = (Category.BASIC.extension, *ballot, *extensions)
    salt = marks.salt_of(stage, title, body)
    source = f"""#version 460
// {title}
// Binding 0: planes of {recorder.invocations} words, one for each invocation.
{chr(10).join(f"#extension {name} : require" for name in names)}
{recorder.declaration}
layout(std430, binding = 0) buffer Outputs {{ uint outputs[]; }};
uint index;
void record(uint plane, uint word) {{
    uint place = plane * {recorder.invocations}u + index;
    outputs[place] = plane < {len(RECORD)}u ? word : word ^ {marks.glsl("place", salt)};
}}
{declarations}

void main() {{
    index = {recorder.index()};
    uint subgroup = {_SUBGROUP[stage]};
    record(0u, 1u);
    record(1u, gl_SubgroupInvocationID);
    record(2u, subgroup);
    {body}
    {WRITE_NOTHING[stage]}
}}
"""
    words, _ = recorder.run(executor, executor.compile(source, stage=stage))
    words[len(RECORD) :] ^= marks.marks(np.arange(words.size).reshape(words.shape), salt)[len(RECORD) :]
    return np.ascontiguousarray(words[:, words[0] == 1])


def description(
    words: Words, line: Callable[[int], str], rows: Callable[[Indices], Rows], code: str
) -> Description:
    """Return a function that describes wrong invocations in recorded words, (planes, invocations).

    `line` describes the fault of an invocation; `rows` makes the rows of the evidence; `code` is text in the
    shader's line that computes the values.
    """
    lane, subgroup = (words[RECORD.index(name)].astype(np.int64) for name in ("lane", "subgroup"))

    def whole_line(index: Index) -> str:
        return f"subgroup {subgroup[index]} lane {lane[index]}: {line(index[0])}"

    def shown(wrong: Flags) -> dict[str, Any]:
        same = evidence.together(wrong, subgroup)
        size, where = int(lane[same].max()) + 1, f"subgroup {subgroup[same[0]]}"
        return evidence.of_lanes(where, lane[same], wrong[same], rows(same), size=size, code=code)

    return Description("invocations", whole_line, shown, shown=1)
