"""Kinds of descriptors, and computations of the index into an array of them.

A kind has the GLSL that declares, reads and writes an array. A way computes an index that is uniform in the
subgroup, but not in larger groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.base.sampler import Sampler
from vkgroup.conformance.arrays import Words

WIDTH, HEIGHT = 32, 16
INVOCATIONS = WIDTH * HEIGHT
"""Invocations of a dispatch, or pixels of a draw."""

ROWS, WRITE_ROW, READ_ROW = 2, 0, 1
"""Rows of `INVOCATIONS` cells of each descriptor: one to be written, and one to be read."""

CELLS = ROWS * INVOCATIONS

_FEW, _MANY = 4, 8

ADDRESSES = ("repeat", "mirrored_repeat", "clamp_to_edge", "clamp_to_border")
"""Address modes of an array's samplers: each reads another texel beyond the image's edge."""

SAMPLER_TEXELS = np.array([[10, 20, 30, 40], [50, 60, 70, 80]], np.float32)
_BEYOND = 1.375
"""Their coordinate in x: texel 1 repeated, 2 mirrored, 3 at the edge, and the border, which is 0."""

_LOOK = f"vec2({_BEYOND}, index % 2u == 0u ? 0.25 : 0.75)"

_BORDER = "float_transparent_black"

_SAMPLER_COLUMNS = (1, 2, 3, None)


@dataclass(frozen=True)
class DescriptorKind:
    """A kind of descriptor."""

    name: str  # Vulkan's, in lower case
    feature: str  # the part of the names of the features that let arrays of it be indexed
    limit: str  # the limit on their number in a stage
    count: int  # descriptors in the array
    declaration: str  # GLSL of the array `data`, at binding 2 and what follows; its length is COUNT
    read: str  # GLSL expression of the word that descriptor `{i}` holds in cell `{k}`
    #: `write`, `atomic`: GLSL statements that store `{v}` into cell `{k}`, or add 1 to it; "" but for
    #: storage.
    write: str = ""
    atomic: str = ""
    #: What is bound at binding 2, of `cells_of` each descriptor.
    bound: Callable[[list[Words]], Any] = lambda cells: list(cells)
    others: dict[int, Any] = field(default_factory=dict)  # further bindings
    stages: tuple[str, ...] = ("compute", "fragment")  # stages in which it can be used

    @property
    def accesses(self) -> tuple[str, ...]:
        """The accesses that the kind allows."""
        return ("read", "write", "atomic") if self.write else ("read",)

    def expected(self, chosen: NDArray[np.int64], place: NDArray[np.int64], seed: int) -> Words:
        """Return the word that each invocation must read from its chosen descriptor."""
        if self.name == "sampler":
            texels = [0 if x is None else SAMPLER_TEXELS[:, x] for x in _SAMPLER_COLUMNS]
            table = np.array([np.broadcast_to(column, 2) for column in texels], np.uint32)
            return np.asarray(table[chosen, place % 2])
        cells = np.stack([cells_of(number, seed) for number in range(self.count)])
        own = self.name == "input_attachment"
        cell = place if own else READ_ROW * INVOCATIONS + read_cell(place)
        return np.asarray(cells[chosen, cell])


def read_cell(place: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cell of the last row that an invocation reads, different for each."""
    return (place * 7 + 3) % INVOCATIONS


READ_CELL = f"((index * 7u + 3u) % {INVOCATIONS}u)"
"""GLSL of `read_cell`."""


def cells_of(number: int, seed: int) -> Words:
    """Return the initial contents of a descriptor's cells, (`CELLS`,), all different."""
    mixed = np.arange(CELLS, dtype=np.uint32) + np.uint32(number * CELLS + 977 * seed)
    return np.asarray((mixed * np.uint32(2654435761)) >> np.uint32(8))


def _image(cells: list[Words]) -> list[Words]:
    return [words.reshape(ROWS, INVOCATIONS) for words in cells]


_TEXEL = f"ivec2(int({{k}}) % {INVOCATIONS}, int({{k}}) / {INVOCATIONS})"
_COORDINATE = f"(vec2({_TEXEL}) + 0.5) / vec2({INVOCATIONS}.0, {ROWS}.0)"

_KINDS = (
    DescriptorKind(
        "storage_buffer", "StorageBuffer", "StorageBuffers", _MANY,
        "layout(std430, binding = 2) buffer Data { uint cells[]; } data[COUNT];",
        "data[{i}].cells[{k}]", "data[{i}].cells[{k}] = {v};", "atomicAdd(data[{i}].cells[{k}], 1u);",
    ),
    DescriptorKind(
        "uniform_buffer", "UniformBuffer", "UniformBuffers", _MANY,
        f"layout(std140, binding = 2) uniform Data {{ uvec4 cells[{CELLS // 4}]; }} data[COUNT];",
        "data[{i}].cells[({k}) / 4u][({k}) % 4u]",
        bound=lambda cells: [words.reshape(-1, 4) for words in cells],
    ),
    DescriptorKind(
        "storage_texel_buffer", "StorageTexelBuffer", "StorageImages", _MANY,
        "layout(r32ui, binding = 2) uniform uimageBuffer data[COUNT];", "imageLoad(data[{i}], int({k})).x",
        "imageStore(data[{i}], int({k}), uvec4({v}));", "imageAtomicAdd(data[{i}], int({k}), 1u);",
    ),
    DescriptorKind(
        "uniform_texel_buffer", "UniformTexelBuffer", "SampledImages", _MANY,
        "layout(binding = 2) uniform usamplerBuffer data[COUNT];", "texelFetch(data[{i}], int({k})).x",
    ),
    DescriptorKind(
        "storage_image", "StorageImage", "StorageImages", _MANY,
        "layout(r32ui, binding = 2) uniform uimage2D data[COUNT];",
        f"imageLoad(data[{{i}}], {_TEXEL}).x", f"imageStore(data[{{i}}], {_TEXEL}, uvec4({{v}}));",
        f"imageAtomicAdd(data[{{i}}], {_TEXEL}, 1u);", bound=_image,
    ),
    DescriptorKind(
        "sampled_image", "SampledImage", "SampledImages", _MANY,
        "layout(binding = 2) uniform utexture2D data[COUNT];\nlayout(binding = 3) uniform sampler nearest;",
        f"textureLod(usampler2D(data[{{i}}], nearest), {_COORDINATE}, 0.0).x",
        bound=_image, others={3: Sampler()},
    ),
    DescriptorKind(
        "sampler", "SampledImage", "Samplers", _FEW,
        "layout(binding = 2) uniform sampler data[COUNT];\nlayout(binding = 3) uniform texture2D image;",
        f"uint(textureLod(sampler2D(image, data[{{i}}]), {_LOOK}, 0.0).x)",
        bound=lambda cells: [Sampler(address=address, border_color=_BORDER) for address in ADDRESSES],
        others={3: SAMPLER_TEXELS},
    ),
    DescriptorKind(
        "combined_image_sampler", "SampledImage", "SampledImages", _MANY,
        "layout(binding = 2) uniform usampler2D data[COUNT];",
        f"textureLod(data[{{i}}], {_COORDINATE}, 0.0).x",
        bound=lambda cells: [(image, Sampler()) for image in _image(cells)],
    ),
    DescriptorKind(
        "input_attachment", "InputAttachment", "InputAttachments", _FEW,
        "layout(input_attachment_index = 0, binding = 2) uniform usubpassInput data[COUNT];",
        "subpassLoad(data[{i}]).x",
        bound=lambda cells: [words[:INVOCATIONS].reshape(HEIGHT, WIDTH) for words in cells],
        stages=("fragment",),
    ),
)  # fmt: skip

KINDS: dict[str, DescriptorKind] = {kind.name: kind for kind in _KINDS}
"""All kinds by name."""


@dataclass(frozen=True)
class Way:
    """A way to compute the index of a descriptor."""

    #: `name`, `sentence`: the latter to complete "… is indexed by …".
    name: str
    sentence: str
    #: GLSL, with ``@ACCESS`` where the descriptor `i` is used. It knows `wanted`, the descriptor that the
    #: invocation wants, and `turn`, a number that its subgroup shares.
    code: str
    #: Whether every invocation uses the descriptor that it wants; else each subgroup uses one.
    wants: bool = True
    needs: tuple[str, ...] = ()  # categories of subgroup operations beyond ballots
    nonuniform: bool = False  # whether the index is decorated as nonuniform


def _peeled(choice: str) -> str:
    """Return a loop in which invocations that want the same descriptor use it together."""
    return f"""for (bool waiting = true; waiting;) {{
            uint i = {choice};
            if (i == wanted) {{
                @ACCESS
                waiting = false;
            }}
    }}"""


_WAYS = (
    Way(
        "first", "what the first active invocation wants, in a loop",
        _peeled("subgroupBroadcastFirst(wanted)"),
    ),
    Way(
        "ballot", "what the lowest lane of a ballot wants, in a loop",
        _peeled("subgroupShuffle(wanted, subgroupBallotFindLSB(subgroupBallot(true)))"), needs=("shuffle",),
    ),
    Way(
        "minimum", "the least that any active invocation wants, in a loop", _peeled("subgroupMin(wanted)"),
        needs=("arithmetic",),
    ),
    Way("subgroup", "a number of the subgroup", "uint i = turn % COUNT;\n        @ACCESS", wants=False),
    Way(
        "nonuniform", "what each invocation wants, under nonuniformEXT",
        "uint i = wanted;\n        @ACCESS", nonuniform=True,
    ),
)  # fmt: skip

WAYS: dict[str, Way] = {way.name: way for way in _WAYS}
"""All ways by name."""
