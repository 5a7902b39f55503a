"""Derivative groups of compute shaders: derivatives, levels of detail, and consistent quads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkgroup.base.sampler import Sampler
from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import Flags, Indices, poisoned
from vkgroup.conformance.comparison import Description, Expected, Index, Verdict, compare
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, TableCase, table
from vkgroup.conformance.fragment.derivatives import DERIVATIVES, F, derivatives_of, f_of
from vkgroup.conformance.intrinsics import EXTENSION
from vkgroup.conformance.quad_control.values import LEVELS, SIDE, derivative_group, derivatives, image_levels
from vkgroup.conformance.support import lacking_operations, lacking_stages
from vkgroup.device import Capabilities
from vkgroup.spec.categories import Category
from vkgroup.spec.limits import QUAD_SIZE

Shape = tuple[int, int, int]

WORKGROUPS = 2
_STEMS = {"dFdx": "derivativeX", "dFdy": "derivativeY", "fwidth": "derivativeWidth"}
_QUAD_RULES = "Vulkan 1.4, Quad (derivative groups)"
_DERIVATIVE_RULES = "Vulkan 1.4, Derivative Operations"

GROUPS: dict[str, tuple[Shape, ...]] = {
    "quads": ((8, 8, 1), (2, 2, 16), (32, 4, 1), (4, 6, 5)),
    "linear": ((64, 1, 1), (5, 4, 3), (8, 8, 1), (1, 4, 16)),
}
"""Rules by which four invocations form a quad: by two local ids in x and two in y, or by local index. Also
the shapes of workgroups, whose sizes in x and y are even there, and the product is a multiple of 4 here."""


@dataclass(frozen=True)
class QuadLayout:
    """The invocations of one workgroup, by local index."""

    #: `x`, `y`: what the values follow from: the local id in x, and that in y and z together.
    x: Indices
    y: Indices
    #: `quad`, `place`: the quad of each, and its place there.
    quad: Indices
    place: Indices
    members: Indices  # (4, invocations) local indices of the quad's four


def layout_of(group: str, shape: Shape) -> QuadLayout:
    """Return the quads of the invocations."""
    index = np.arange(prod(shape))
    x, y, z = index % shape[0], index // shape[0] % shape[1], index // (shape[0] * shape[1])
    if group == "linear":
        quad, place = index // QUAD_SIZE, index % QUAD_SIZE
    else:
        quad = (z * (shape[1] // 2) + y // 2) * (shape[0] // 2) + x // 2
        place = y % 2 * 2 + x % 2
    members = np.empty((len(index) // QUAD_SIZE, QUAD_SIZE), np.int64)
    members[quad, place] = index
    return QuadLayout(x, y + shape[1] * z, quad, place, members[quad].T)


Expect = Callable[[QuadLayout], tuple[NDArray[Any], ...]]


@dataclass(frozen=True)
class DerivativeProbe:
    """A computation of every invocation, and its legal results."""

    #: `name`, `sentence`: as of all cases.
    name: str
    sentence: str
    code: str  # GLSL expression of a float. It knows `x`, `y`, `index`, `lane`, `quad` and `place`.
    expect: Expect  # returns the legal values, arrays of (invocations,)
    taken: bool = False  # whether it stands in a branch that every third quad takes; the others have 777


_VECTORS = (2, 3, 4)
"""Components of the vectors that have derivatives, beside scalars."""


def _derivative(name: str, layout: QuadLayout, *, factor: int = 1) -> tuple[NDArray[Any], ...]:
    values = np.float32(factor) * f_of(layout.x[layout.members], layout.y[layout.members])
    return derivatives_of(name, values, layout.place)


def _member(bits: int, keep: int, layout: QuadLayout) -> tuple[NDArray[Any], ...]:
    """Return the local index of the member of the quad whose place is the own one & `keep` ^ `bits`."""
    place = layout.place & keep ^ bits
    return (np.asarray(np.take_along_axis(layout.members, place[None], axis=0)[0], np.float32),)


def _differences(prefix: str, where: str, *, taken: bool) -> Iterator[DerivativeProbe]:
    """Yield a probe for each derivative."""
    for name in DERIVATIVES:
        stem = next(stem for stem in _STEMS if name.startswith(stem))
        code = f"{_STEMS[stem]}{name.removeprefix(stem)}({F})"
        sentence = f"{name}{where} is a difference of values in the quad: {_DERIVATIVE_RULES}"
        yield DerivativeProbe(f"{prefix}{name}", sentence, code, partial(_derivative, name), taken)


def _of_vectors() -> Iterator[DerivativeProbe]:
    """Yield a probe for each derivative of a vector, whose components have different slopes.

    The components are combined into a whole number that a float represents exactly.
    """
    for name, count in product(DERIVATIVES, _VECTORS):
        stem = next(stem for stem in _STEMS if name.startswith(stem))
        slopes, weights = ([step**place for place in range(count)] for step in (2, 4))
        vector, combined = (f"vec{count}({', '.join(f'{n}.0' for n in row)})" for row in (slopes, weights))
        code = f"dot({_STEMS[stem]}{name.removeprefix(stem)}({F} * {vector}), {combined})"
        sentence = (
            f"{name} of a vec{count} is a difference of each component in the quad: {_DERIVATIVE_RULES}"
        )
        factor = sum(slope * weight for slope, weight in zip(slopes, weights, strict=True))
        yield DerivativeProbe(f"{name}.vec{count}", sentence, code, partial(_derivative, name, factor=factor))


def _level(layout: QuadLayout) -> tuple[NDArray[Any], ...]:
    return ((layout.quad % LEVELS).astype(np.float32),)


_SLOPE = f"vec2(place & 1u, place >> 1u) * exp2(float(quad % {LEVELS}u)) / {SIDE}.0"

_PROBES = (
    *_differences("", "", taken=False),
    *_differences("branch.", " in a branch that whole quads take", taken=True),
    DerivativeProbe(
        "lod.sample", f"sampling finds the level that the slope in the quad leads to: {_DERIVATIVE_RULES}",
        f"implicitLod(levels, {_SLOPE}).x", _level,
    ),
    DerivativeProbe(
        "lod.query", f"OpImageQueryLod finds the level that the slope leads to: {_DERIVATIVE_RULES}",
        f"queriedLod(levels, {_SLOPE}).x", _level,
    ),
    *(
        DerivativeProbe(
            f"swap{side}", f"subgroupQuadSwap{side} is that of the derivative group: {_QUAD_RULES}",
            f"float(subgroupQuadSwap{side}(index))", partial(_member, bits, 3),
        )
        for side, bits in (("Horizontal", 1), ("Vertical", 2), ("Diagonal", 3))
    ),
    *(
        DerivativeProbe(
            f"broadcast{place}", f"broadcasts from place {place} are the derivative group's: {_QUAD_RULES}",
            f"float(subgroupQuadBroadcast(index, {place}u))", partial(_member, place, 0),
        )
        for place in range(QUAD_SIZE)
    ),
    DerivativeProbe(
        "lane", f"the place in the derivative group is that of the lane among four: {_QUAD_RULES}",
        "float(lane % 4u)", lambda layout: (layout.place.astype(np.float32),),
    ),
    *_of_vectors(),
)  # fmt: skip

PROBES: dict[str, DerivativeProbe] = {probe.name: probe for probe in _PROBES}
"""All probes by name."""

_PLACES = {
    "quads": """uvec2 half_size = gl_WorkGroupSize.xy / 2u;
    uint quad = (id.z * half_size.y + id.y / 2u) * half_size.x + id.x / 2u;
    uint place = id.y % 2u * 2u + id.x % 2u;""",
    "linear": "uint quad = index / 4u;\n    uint place = index % 4u;",
}

_TEMPLATE = """#version 460
// {count} probes in derivative groups ({group}) of workgroups of {x} x {y} x {z}.
// binding 0: what each probe found, of each invocation. binding 1: an image whose texels are the numbers of
// their levels.
{extensions}
{declarations}
layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;
layout(std430, binding = 0) writeonly buffer Found {{ float found[][{invocations}]; }};
layout(binding = 1) uniform sampler2D levels;

void main() {{
    uvec3 id = gl_LocalInvocationID;
    uint index = gl_LocalInvocationIndex;
    uint lane = gl_SubgroupInvocationID;
    uint x = id.x;
    uint y = id.y + gl_WorkGroupSize.y * id.z;
    {places}
    uint row = gl_WorkGroupID.x * {count}u;
    {probes}
}}
"""


class DerivativeAxes(NamedTuple):
    """The axes: ``"derivative_group"``, keys of `GROUPS` and `PROBES`, and the local size as ``8x8x1``."""

    kind: str
    group: str
    probe: str
    size: str

    @property
    def shape(self) -> Shape:
        """The local size."""
        x, y, z = map(int, self.size.split("x"))
        return x, y, z


DerivativeCase = TableCase[DerivativeAxes]


def _sentence(axes: DerivativeAxes) -> str:
    x, y, z = axes.shape
    where = f"workgroups of {x} x {y} x {z} with derivative groups ({axes.group})"
    return f"In {where}, {PROBES[axes.probe].sentence}."


_CASES = table(
    "quad_control",
    DerivativeAxes,
    _sentence,
    kind=("derivative_group",),
    group=GROUPS,
    size=lambda kind, group: ("x".join(map(str, shape)) for shape in GROUPS[group]),
    probe=PROBES,
)


def _missing(case: DerivativeCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a case that the device lacks."""
    invocations = prod(case.axes.shape)
    feature, subgroup = f"computeDerivativeGroup{case.axes.group.title()}", capabilities.subgroup
    needs = [] if feature in capabilities.features else [feature]
    needs += lacking_stages(("compute",), capabilities)
    needs += lacking_operations(("quad",), capabilities)
    if subgroup.size < QUAD_SIZE:
        needs.append(f"a subgroup size of at least {QUAD_SIZE} (smaller ones hold no quad)")
    if invocations > int(capabilities.limits["maxComputeWorkGroupInvocations"]):
        needs.append(f"maxComputeWorkGroupInvocations of at least {invocations}")
    return needs


def source_of(group: str, shape: Shape, probes: list[DerivativeProbe]) -> str:
    """Return the GLSL of a batch."""
    names = (EXTENSION, Category.BASIC.extension, Category.QUAD.extension)
    lines = []
    for number, probe in enumerate(probes):
        to = f"found[row + {number}u][index]"
        branch = f"{to} = 777.0;\n    if (quad % 3u == 1u) " if probe.taken else ""
        lines.append(f"{branch}{to} = {probe.code};")
    return _TEMPLATE.format(
        count=len(probes),
        group=group,
        x=shape[0],
        y=shape[1],
        z=shape[2],
        invocations=prod(shape),
        extensions="\n".join(f"#extension {name} : require" for name in names),
        declarations="\n".join((derivative_group(group), derivatives())),
        places=_PLACES[group],
        probes="\n    ".join(lines),
    )


def _verdicts(executor: Executor, cases: list[DerivativeCase]) -> list[Verdict]:
    """Run the probes of a batch, and return their verdicts."""
    group, shape = cases[0].axes.group, cases[0].axes.shape
    probes = [PROBES[case.axes.probe] for case in cases]
    module = executor.compile(source_of(group, shape, probes), stage="compute")
    blank = poisoned(WORKGROUPS * len(probes), prod(shape)).view(np.float32)
    first, *smaller = image_levels()
    with executor.device.image(first, levels=smaller, sampled=True) as image:
        result = executor.device.run(
            module, WORKGROUPS, {0: blank, 1: (image, Sampler())}, timeout=executor.timeout
        )
    recorded = result[0].reshape(WORKGROUPS, len(probes), prod(shape))
    layout = layout_of(group, shape)
    return [_verdict(probe, layout, recorded[:, number]) for number, probe in enumerate(probes)]


def _verdict(probe: DerivativeProbe, layout: QuadLayout, got: NDArray[np.float32]) -> Verdict:
    """Compare the records of a probe, (workgroups, invocations)."""
    values = probe.expect(layout)
    if probe.taken:
        values = tuple(np.where(layout.quad % 3 == 1, value, np.float32(777)) for value in values)
    everywhere = [np.broadcast_to(value, got.shape) for value in values]
    expected = Expected.one_of(everywhere, np.ones(got.shape, np.bool_))

    def line(at: Index) -> str:
        workgroup, index = at
        where = f"workgroup {workgroup} local index {index}"
        quad = f"place {layout.place[index]} of quad {layout.quad[index]}"
        return f"{where}, {quad}: expected {expected.text(at)} got {evidence.text_of(got[at])}"

    def shown(wrong: Flags) -> dict[str, Any]:
        """Return the evidence of the quad of the first wrong invocation."""
        workgroup, first = np.argwhere(wrong)[0].tolist()
        members = np.flatnonzero(layout.quad == layout.quad[first])
        return evidence.of_lanes(
            f"workgroup {workgroup} quad {layout.quad[first]}",
            layout.place[members],
            wrong[workgroup, members],
            {
                "local index": map(str, members.tolist()),
                "expected": [expected.text((workgroup, index)) for index in members.tolist()],
                "got": map(evidence.text_of, got[workgroup, members]),
            },
            size=QUAD_SIZE,
            unit="place in the quad",
            code=probe.code,
        )

    return compare(got, expected, Description("invocations", line, shown))


DERIVATIVE_GROUPS = Family(
    "quad_control.derivative_group",
    _CASES,
    _missing,
    _verdicts,
    lambda case: (case.axes.group, case.axes.shape),
    batch=len(PROBES),
)
"""Probes in derivative groups of compute shaders."""
