"""Probes: a computation of every fragment of a scene, and its required result.

In GLSL every fragment has `x` and `y`, its pixel; `layer`, its record; `self`, all three in one word; `f`, a
value that changes irregularly from pixel to pixel, and `g`, one that is linear in the pixel's position;
`lane` and `v`, a value computed from it. The functions here compute the same in NumPy.

Whether helper invocations take part in votes is read from the active mask, as for other operations. A
vote must agree with the ballot, and the ballot with the covered pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from vkgroup.conformance.arrays import Array, Flags, Indices
from vkgroup.conformance.comparison import Expected
from vkgroup.conformance.evidence import MOST_LANES
from vkgroup.conformance.fragment.derivatives import DERIVATIVES, derivatives_of, f_of
from vkgroup.conformance.fragment.drawn import Expect, FragmentProbe, Legal, PixelRecord
from vkgroup.conformance.fragment.scenes import SCENES
from vkgroup.conformance.instances import unpack
from vkgroup.reference.registry import reference_of

SELF = "x | y << 8 | layer << 16"
SLOPE = (3, -5)
G = "3.0 * gl_FragCoord.x - 5.0 * gl_FragCoord.y + 7.0"
V = "(lane * lane + 3u)"


def _of_lane(keep: int, bits: int, drawn: PixelRecord) -> Expected:
    """Return the word of another lane's pixel, provided by a helper invocation if necessary.

    That lane's place in the quad is the fragment's place & `keep` ^ `bits`.
    """
    x, y = drawn.of_lane(drawn.lane & keep ^ bits)
    defined = drawn.present
    if drawn.scene.leaves in ("discard", "terminate"):
        # The specification does not define whether a discarded fragment takes part as a helper invocation.
        # A terminated one does not.
        defined = defined & ~drawn.at(drawn.gone, x, y)
    return Expected.one_of((x | y << 8 | drawn.layer << 16,), defined)


def helper_flag(flags: str, bits: int, drawn: PixelRecord) -> Legal:
    """Return whether a neighbour in the quad is not among the `shaded` or the `present` pixels."""
    x, y = drawn.of_lane(drawn.lane & 3 ^ bits)
    return ~drawn.at(getattr(drawn, flags), x, y)


def derivative(name: str, drawn: PixelRecord) -> Legal:
    """Return the legal results of a derivative of `f`, from the pixels of the quad."""
    values = np.stack([f_of(*drawn.of_lane(np.full_like(drawn.lane, place))) for place in range(4)])
    return derivatives_of(name, values, drawn.lane & 3)


def _everywhere(value: Array) -> Expected:
    """Return the expectation for every pixel of a record, with or without a result."""
    return Expected.one_of((value,), np.ones(value.shape, np.bool_))


def _times(drawn: PixelRecord) -> Expected:
    """Return one store per draw and covered pixel; helper and terminated invocations must not store."""
    return _everywhere(drawn.present * np.uint32(drawn.scene.draws))


def _color(drawn: PixelRecord) -> Expected:
    """Return the word of the last layer, in primitive order, that covers the pixel; 0 if none does."""
    layers = drawn.scene.layers
    covering = drawn.present * (np.arange(layers) + 1)[:, None, None]
    last = covering.max(axis=0)
    y, x = np.indices(last.shape)
    value = np.where(last > 0, (x | y << 8 | (last - 1) << 16) + 1, 0)
    if drawn.scene.sample_shading:
        sample = np.arange(layers)[:, None, None]
        value = np.where(drawn.present, (x | y << 8 | sample << 16) + 1, 0)
    value = np.broadcast_to(value, (drawn.scene.samples, *last.shape))
    inside = np.zeros(value.shape, np.bool_)
    inside[:, : drawn.scene.size, : drawn.scene.size] = True
    return Expected.one_of((value.astype(np.float32),), inside)


def _reference(operation: str, drawn: PixelRecord) -> Expected:
    """Return the result of an operation on `v`, for the active mask that the fragment recorded."""
    shape = drawn.count.shape
    active = unpack(drawn.mask.reshape(-1, 4), drawn.size)
    rows = np.flatnonzero(drawn.present)
    lane = np.arange(drawn.size, dtype=np.uint32)
    v = np.broadcast_to((lane * lane + 3)[None, :, None], (len(rows), drawn.size, 1))
    lanes = reference_of(operation)(v, active[rows])
    value, defined = np.zeros(shape, np.uint32), np.zeros(shape, np.bool_)
    own = drawn.lane.ravel()[rows]
    value.ravel()[rows] = lanes.value[np.arange(len(rows)), own, 0]
    defined.ravel()[rows] = lanes.defined[np.arange(len(rows)), own, 0]
    return Expected.one_of((value,), defined)


_ALL = ("whole", "odd", "triangle", "dots", "strip", "overlap", "samples", "multisampled")
_EDGES = tuple(scene.name for scene in SCENES.values() if scene.shared_edges)
_UNCLIPPED = ("triangle", "dots", "strip", "overlap")
"""Scenes whose triangles lie within the target. Others may be clipped into several (Vulkan 1.4, Primitive
Clipping), and a pixel that one of these covers can be a helper invocation of the next."""
_PARTLY = ("odd", *_UNCLIPPED)
_LEAVING = ("discard", "demote", "terminate")

_QUAD_SOURCE = "KHR_shader_subgroup, section 3.8 (lanes of a quad are 2 × 2 pixels)"
_DERIVATIVES = "Vulkan 1.4, Derivative Operations"


def _quad(name: str, call: str, expect: Expect) -> FragmentProbe:
    sentence = (
        f"{call.replace('self', 'value')} gives the value of that pixel of the quad, of a helper invocation "
        f"where it is not covered: {_QUAD_SOURCE}"
    )
    return FragmentProbe(f"quad.{name}", sentence, (*_ALL, *_LEAVING), expect, call, needs=("quad",))


SWAPS = (("Horizontal", 1), ("Vertical", 2), ("Diagonal", 3))

_QUADS = (
    *(
        _quad(f"swap{side}", f"subgroupQuadSwap{side}(self)", partial(_of_lane, 3, bits))
        for side, bits in SWAPS
    ),
    *(
        _quad(f"broadcast{lane}", f"subgroupQuadBroadcast(self, {lane}u)", partial(_of_lane, 0, lane))
        for lane in range(4)
    ),
)

_HELPERS = (
    *(
        FragmentProbe(
            f"helper.flag{side}",
            f"gl_HelperInvocation of the {side.lower()} neighbour in the quad is true where that is not "
            "covered: KHR_shader_subgroup, section 3.8; GLSL 4.60, section 7.1.5",
            _UNCLIPPED, partial(helper_flag, "shaded", bits),
            f"subgroupQuadSwap{side}(gl_HelperInvocation ? 1u : 0u)", needs=("quad",),
        )
        for side, bits in SWAPS
    ),
    *(
        FragmentProbe(
            f"helper.demoted{side}",
            f"after demote, helperInvocationEXT() of the {side.lower()} neighbour in the quad is true where "
            "that is demoted or not covered: EXT_demote_to_helper_invocation",
            ("demote",), partial(helper_flag, "present", bits),
            f"subgroupQuadSwap{side}(helperInvocationEXT() ? 1u : 0u)", needs=("quad",),
        )
        for side, bits in SWAPS
    ),
    FragmentProbe(
        "helper.self", "gl_HelperInvocation is false of an invocation whose pixel is covered: "
        "GLSL 4.60, section 7.1.5", _ALL, lambda drawn: np.array(0, np.uint32),
        "gl_HelperInvocation ? 1u : 0u",
    ),
    FragmentProbe(
        "helper.stores", "stores and atomics of helper invocations, and of fragments after they were "
        "discarded or demoted, have no effect: Vulkan 1.4, Helper Invocations",
        (*_PARTLY, *_LEAVING), _times, source="count",
    ),
    FragmentProbe(
        "helper.before", "stores and atomics before a fragment is discarded or demoted stand: "
        "SPIR-V 3.49.17, OpKill; EXT_demote_to_helper_invocation", _LEAVING,
        lambda drawn: _everywhere(drawn.shaded.astype(np.uint32)), source="before",
    ),
    FragmentProbe(
        "helper.color", "helper invocations, discarded and demoted fragments write no color: "
        "Vulkan 1.4, Helper Invocations", (*_PARTLY, *_LEAVING), _color, source="color", result="float",
    ),
)  # fmt: skip


def _linear(name: str, slope: float) -> FragmentProbe:
    sentence = f"{name} of a linear function is its slope: {_DERIVATIVES}"
    scenes = (*_ALL, "demote")
    return FragmentProbe(
        f"derivative.{name}.linear",
        sentence,
        scenes,
        lambda drawn: np.array(slope, np.float32),
        f"{name}(g)",
        "float",
    )


def _difference(name: str) -> FragmentProbe:
    sentence = f"{name} is the difference of values in the quad: {_DERIVATIVES}"
    if not name.endswith("Fine"):
        sentence = f"{name} is a difference of values in the quad, of either row or column: {_DERIVATIVES}"
    return FragmentProbe(
        f"derivative.{name}.quad", sentence, (*_ALL, "demote"), partial(derivative, name), f"{name}(f)",
        "float", needs=("quad",),
    )  # fmt: skip


_SLOPES = {"dFdx": SLOPE[0], "dFdy": SLOPE[1], "fwidth": abs(SLOPE[0]) + abs(SLOPE[1])}

_ON_DERIVATIVES = (
    *(
        _linear(name, next(_SLOPES[stem] for stem in _SLOPES if name.startswith(stem)))
        for name in DERIVATIVES
    ),
    *(_difference(name) for name in DERIVATIVES),
)

_COVERAGE = (
    FragmentProbe(
        "edge.once", "where triangles share an edge, each pixel is shaded exactly once: Vulkan 1.4, Basic "
        "Polygon Rasterization (exactly one of the polygons produces the fragment)",
        _EDGES, _times, source="count",
    ),
    FragmentProbe(
        "primitive.once", "each pixel is shaded once by each triangle that covers its centre: Vulkan 1.4, "
        "Basic Polygon Rasterization", ("whole", *_PARTLY), _times, source="count",
    ),
    FragmentProbe(
        "primitive.order", "colors are written in the order of the triangles: Vulkan 1.4, Primitive Order",
        ("strip", "overlap"), _color, source="color", result="float",
    ),
    FragmentProbe(
        "primitive.coordinate", "gl_FragCoord is the pixel's centre: GLSL 4.60, section 7.1.5",
        ("whole", *_PARTLY), lambda drawn: 8 | (drawn.y * 16 + 8) << 8,
        "uint(fract(gl_FragCoord.x) * 16.0) | uint(gl_FragCoord.y * 16.0) << 8",
    ),
    FragmentProbe(
        "sample.once", "with sample shading each sample of each pixel is shaded exactly once: Vulkan 1.4, "
        "Sample Shading", ("samples",), _times, source="count",
    ),
    FragmentProbe(
        "sample.mask", "with sample shading gl_SampleMaskIn has the bit of gl_SampleID alone: "
        "Vulkan 1.4, SampleMask", ("samples",),
        lambda drawn: 1 << drawn.layer, "uint(gl_SampleMaskIn[0])",
    ),
    FragmentProbe(
        "sample.color", "each sample keeps the color of its own invocation, or of the pixel's: "
        "Vulkan 1.4, Sample Shading", ("samples", "multisampled"), _color, source="color", result="float",
    ),
    FragmentProbe(
        "sample.shaded", "without sample shading a pixel that is covered is shaded, and no other: "
        "Vulkan 1.4, Sample Shading", ("multisampled",),
        lambda drawn: _everywhere(np.where(drawn.present, np.maximum(drawn.count, 1), 0)), source="count",
    ),
    FragmentProbe(
        "draws.counted", "each of several draws shades its pixels: Vulkan 1.4, Drawing Commands",
        ("repeated",), _times, source="count",
    ),
)  # fmt: skip

_BY_MASK = tuple(
    FragmentProbe(
        f"subgroup.{name}",
        f"{name} is the result of the invocations in the active mask, of helper invocations too: "
        "KHR_shader_subgroup, section 8.18", (*_ALL, *_LEAVING), partial(_reference, name), f"{name}{V}",
        needs=("ballot", category),
    )
    for name, category in (
        ("subgroupAdd", "arithmetic"),
        ("subgroupMax", "arithmetic"),
        ("subgroupInclusiveAdd", "arithmetic"),
        ("subgroupExclusiveXor", "arithmetic"),
        ("subgroupBroadcastFirst", "ballot"),
    )
)  # fmt: skip

_VOTE_SOURCE = "KHR_shader_subgroup, section 8.18"

_VALUES: dict[str, tuple[str, Callable[[Indices], Flags]]] = {
    "mixed": ("lane * lane % 7u != 4u", lambda lane: lane * lane % 7 != 4),
    "true": ("lane < 1000u", lambda lane: lane < 1000),
    "false": ("lane >= 1000u", lambda lane: lane >= 1000),
}
"""Predicates of a lane, which helper invocations have too."""

_HELPER = "gl_HelperInvocation"

_AGREEMENTS = " | ".join(
    f"(({left}) == ({right}) ? {1 << bit}u : 0u)"
    for bit, (left, right) in enumerate(
        (
            (f"subgroupAny({_HELPER})", f"subgroupBallot({_HELPER}) != uvec4(0u)"),
            (f"subgroupAll(!{_HELPER})", f"subgroupBallot({_HELPER}) == uvec4(0u)"),
            (f"subgroupAllEqual({_HELPER})", f"subgroupBallot({_HELPER}) == uvec4(0u)"),
            (f"subgroupAll({_HELPER})", "false"),
        )
    )
)
_ALL_AGREE = 15


def _active(drawn: PixelRecord) -> Flags:
    """Return the active lanes of each pixel's mask, (layers, GRID, GRID, 128)."""
    bits = unpack(drawn.mask.reshape(-1, 4), MOST_LANES)
    return np.asarray(bits.reshape(*drawn.lane.shape, MOST_LANES))


def _voted(kind: str, name: str, drawn: PixelRecord) -> Legal:
    """Return the result of a vote on a predicate among the lanes of the mask."""
    active = _active(drawn)
    values = _VALUES[name][1](np.arange(MOST_LANES))
    any_, all_ = (active & values).any(axis=-1), (~active | values).all(axis=-1)
    result = {"Any": any_, "All": all_, "AllEqual": all_ | ~any_}[kind]
    return np.asarray(result, np.uint32)


def _helpers(drawn: PixelRecord) -> Legal:
    """Return the bits of the quad's pixels that are not covered and take part."""
    active, base = _active(drawn), drawn.lane & ~3
    result = np.zeros(drawn.count.shape, np.uint32)
    for place in range(4):
        there = np.take_along_axis(active, (base + place)[..., None], axis=-1)[..., 0]
        x, y = drawn.of_lane(np.full_like(drawn.lane, place))
        result |= (there & ~drawn.at(drawn.shaded, x, y)).astype(np.uint32) << np.uint32(place)
    return result


_VOTES = (
    *(
        FragmentProbe(
            f"vote.{kind.lower()}.{name}",
            f"subgroup{kind} of a predicate ({name}) votes among the active mask's invocations: "
            f"{_VOTE_SOURCE}",
            (*_ALL, *_LEAVING), partial(_voted, kind, name), f"subgroup{kind}({code}) ? 1u : 0u",
            needs=("vote", "ballot"),
        )
        for kind in ("Any", "All", "AllEqual")
        for name, (code, _) in _VALUES.items()
    ),
    FragmentProbe(
        "vote.helper.agrees",
        f"votes on gl_HelperInvocation say what its ballot says: {_VOTE_SOURCE}",
        _ALL, lambda drawn: np.array(_ALL_AGREE, np.uint32), _AGREEMENTS, needs=("vote", "ballot"),
    ),
    FragmentProbe(
        "vote.helper.ballot",
        "subgroupBallot(gl_HelperInvocation) has the bits of the quad's pixels that are not covered and "
        f"take part: {_VOTE_SOURCE}; GLSL 4.60, section 7.1.5",
        _UNCLIPPED, _helpers,
        f"(subgroupBallot({_HELPER})[lane / 32u] >> (lane % 32u & ~3u)) & 15u",
        needs=("ballot", "quad"),
    ),
)  # fmt: skip

PROBES: dict[str, FragmentProbe] = {
    probe.name: probe for probe in (*_QUADS, *_HELPERS, *_ON_DERIVATIVES, *_COVERAGE, *_BY_MASK, *_VOTES)
}
"""All probes by name."""
