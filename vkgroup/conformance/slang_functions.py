"""The wave functions of Slang's own library, each with the built-in of KHR_shader_subgroup that is the same.

The definitions are those of Slang's reference of its core module. A mask of 32 bits (WaveMask) is that of the
active lanes, or of a partition; Slang's masks of 128 bits (WaveMulti…) are partitions.
"""

from __future__ import annotations

from collections.abc import Iterator

from vkgroup.conformance.hlsl_intrinsics import (
    ANY,
    INTEGERS,
    HlslIntrinsic,
    row_of,
    vectors,
)

HELPERS = """
uint counted_mask(uint word) {
    uint sum = 0u;
    for (uint bit = 0u; bit < 32u; ++bit)
        sum += WaveMaskCountBits(WaveGetActiveMask(), ((word >> bit) & 1u) != 0u) << bit;
    return sum;
}
uint counted_mask_below(uint word) {
    uint sum = 0u;
    for (uint bit = 0u; bit < 32u; ++bit)
        sum += WaveMaskPrefixCountBits(WaveGetActiveMask(), ((word >> bit) & 1u) != 0u) << bit;
    return sum;
}
"""
"""Functions that calls use."""

_SINGLE = (*INTEGERS, "float")
_NAMES_OF = {"Add": "Sum", "Mul": "Product", "And": "BitAnd", "Or": "BitOr", "Xor": "BitXor"}
_WHAT = {
    **{"Add": "the sum", "Mul": "the product", "Min": "the least", "Max": "the greatest"},
    **{"And": "bitwise and", "Or": "bitwise or", "Xor": "bitwise exclusive or"},
}
_COMBINED = {
    **dict.fromkeys(("Add", "Mul", "Min", "Max"), _SINGLE),
    **dict.fromkeys(("And", "Or", "Xor"), INTEGERS),
}
"""Types by the operator."""

_PARTITIONS = ("equal", "blocks")
_ACTIVE = "WaveGetActiveMask()"
_IDS = ("last", "reverse", "dynamic", "data")


def _call(
    name: str, core: str, definition: str, call: str, types: tuple[str, ...], *operands: str
) -> HlslIntrinsic:
    return HlslIntrinsic(name, core, definition, call, types, operands or ("",))


def _of_partitions() -> Iterator[HlslIntrinsic]:
    """Yield what combines the values of a partition's subset, by masks of 128 and of 32 bits."""
    for core, types in _COMBINED.items():
        word = _NAMES_OF.get(core, core)
        subset = f"{_WHAT[core]} over the values of the lanes of its subset"
        yield row_of(f"WaveMulti{word}", f"subgroupPartitioned{core}NV", subset, types, *_PARTITIONS)
        for scan, where in (("Inclusive", "the same or smaller"), ("Exclusive", "smaller")):
            if scan == "Inclusive" or core in ("Min", "Max"):
                yield row_of(
                    f"WaveMultiPrefix{scan}{word}",
                    f"subgroupPartitioned{scan}{core}NV",
                    f"{subset} with {where} indices",
                    types,
                    *_PARTITIONS,
                )
        for name, built_in in ((f"WaveMask{word}", core), (f"WaveMaskPrefix{word}", f"Exclusive{core}")):
            below = " with smaller indices" if "Prefix" in name else ""
            call = f"{{type}}({name}(({{1}}).x, {{0}}))"
            yield _call(
                name,
                f"subgroupPartitioned{built_in}NV",
                f"{subset}{below}",
                call,
                vectors(types),
                "equal",
                "active",
            )


def _scans() -> Iterator[HlslIntrinsic]:
    """Yield the exclusive scans that HLSL does not have."""
    for core in ("Min", "Max", "And", "Or", "Xor"):
        below = f"{_WHAT[core]} over the values of the active lanes with smaller indices"
        name = f"WavePrefix{_NAMES_OF.get(core, core)}"
        yield row_of(name, f"subgroupExclusive{core}", below, _COMBINED[core])


def _of_masks() -> Iterator[HlslIntrinsic]:
    """Yield the functions that take the mask of the active lanes, and those that return it."""
    for name in ("WaveGetActiveMask", "WaveGetConvergedMask"):
        call = f"(uint4({name}(), 0u, 0u, 0u) & WaveActiveBallot({{0}}))"
        yield _call(name, "subgroupBallot", "a bit for each active lane", call, ("bool",))
    for name in ("WaveGetActiveMulti", "WaveGetConvergedMulti"):
        call = f"({name}() & WaveActiveBallot({{0}}))"
        yield _call(name, "subgroupBallot", "a bit for each active lane", call, ("bool",))
    for name, core, definition, types in (
        ("AllTrue", "All", "whether it is true in all lanes of the mask", ("bool",)),
        ("AnyTrue", "Any", "whether it is true in any lane of the mask", ("bool",)),
        ("AllEqual", "AllEqual", "whether the value is the same in all lanes of the mask", ANY),
        (
            "ReadLaneFirst",
            "BroadcastFirst",
            "the value of the mask's lane of the smallest index",
            vectors(ANY),
        ),
    ):
        call = f"WaveMask{name}({_ACTIVE}, {{0}})"
        yield _call(f"WaveMask{name}", f"subgroup{core}", definition, call, types)
    yield _call(
        "WaveMaskIsFirstLane", "subgroupElect", "true in the mask's lane of the smallest index",
        f"WaveMaskIsFirstLane({_ACTIVE})", ("bool",),
    )  # fmt: skip
    for name, core, definition, types in (
        ("Ballot", "subgroupBallot", "a bit for each lane of the mask in which it is true", ("bool",)),
        (
            "Match",
            "subgroupPartitionNV",
            "a bit for each lane of the mask with the same value",
            vectors(_SINGLE),
        ),
    ):
        call = f"uint4(WaveMask{name}({_ACTIVE}, {{0}}), 0u, 0u, 0u)"
        yield _call(f"WaveMask{name}", core, definition, call, types)
    for name, core, call in (
        ("WaveMaskCountBits", "subgroupAdd", "counted_mask({0})"),
        ("WaveMaskPrefixCountBits", "subgroupExclusiveAdd", "counted_mask_below({0})"),
    ):
        what = "in how many lanes it is true, asked of each bit of a word"
        yield _call(name, core, what, call, ("uint",))
    for name, ids in (("BroadcastLaneAt", ("first", "last")), ("ReadLaneAt", _IDS), ("Shuffle", _IDS)):
        core = "subgroupBroadcast" if name == "BroadcastLaneAt" else "subgroupShuffle"
        call = f"{{type}}(WaveMask{name}({_ACTIVE}, {{0}}, {{1}}))"
        yield _call(f"WaveMask{name}", core, "the value of the lane of an index", call, vectors(ANY), *ids)


SLANG_FUNCTIONS: tuple[HlslIntrinsic, ...] = (
    _call("WaveGetWaveIndex", "gl_SubgroupID", "the wave's index", "WaveGetWaveIndex()", ("uint",)),
    _call("WaveGetNumWaves", "gl_NumSubgroups", "the workgroup's waves", "WaveGetNumWaves()", ("uint",)),
    row_of(
        "WaveBroadcastLaneAt", "subgroupBroadcast", "the value of the lane of a constant index", ANY,
        *("first", "middle", "last"),
    ),
    row_of("WaveShuffle", "subgroupShuffle", "the value of the lane of an index", ANY, *_IDS),
    row_of(
        "WaveRotate", "subgroupRotate", "the value a distance above, around the wave", ANY,
        *("by1", "by5", "largest", "dynamic"),
    ),
    _call(
        "WaveClusteredRotate", "subgroupClusteredRotate", "the value a distance above, around its cluster",
        "{type}(WaveClusteredRotate({0}, {1}, {2}))", vectors(ANY), *("by1_c2", "by5_c4", "dynamic_c8"),
    ),
    *_scans(),
    *_of_partitions(),
    *_of_masks(),
)  # fmt: skip
"""All uses of all functions."""
