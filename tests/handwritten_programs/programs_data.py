"""Types and memory: bits, packed formats, layouts, atomics, arrays of buffers, small and large numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from program import Array, Claim, Outcome, Program, close, exact, growth

_COUNTS = ("highest", "lowest", "count", "highest_signed")
_BITS = np.dtype([*((name, "i4") for name in _COUNTS), ("reversed", "u4")])
_KINDS = np.dtype([("signed_results", "i4", 6), ("unsigned_results", "u4", 6)])

#: Words where layouts.comp has a record's 21 scalars: vec3, uint, three of (float, ivec2), mat2x3, float[2].
_STD140 = np.r_[0:4, 4, 6:8, 8, 10:12, 12, 14:16, 16:19, 20:23, 24, 28]
_STD430 = np.r_[_STD140[:-1], 25]
_INNERS, _FRAME, _TAIL = slice(4, 13), slice(13, 19), slice(19, 21)


def _big_inputs(rng: np.random.Generator) -> dict[str, Array]:
    pairs = rng.integers(0, 2**32, (128, 2, 4)) >> rng.choice([0, 31], (128, 2, 4), p=[0.8, 0.2])
    pairs[rng.random(pairs.shape) < 0.2] = 2**32 - 1
    return {
        "Pairs": pairs.astype(np.uint32),
        "Sums": np.zeros((128, 5), np.uint32),
        "Differences": np.zeros((128, 5), np.uint32),
        "Products": np.zeros((128, 8), np.uint32),
    }


def _big(outcome: Outcome) -> Iterator[Claim]:
    def words(number: int, count: int) -> list[int]:
        return [number >> 32 * k & 0xFFFFFFFF for k in range(count)]

    pairs = [[int.from_bytes(part.tobytes(), "little") for part in pair] for pair in outcome.inputs["Pairs"]]
    yield exact(outcome, "Sums", [words(a + b, 5) for a, b in pairs])
    yield exact(outcome, "Differences", [[*words(a - b, 4), int(a < b)] for a, b in pairs])
    yield exact(outcome, "Products", [words(a * b, 8) for a, b in pairs])


def _morton_inputs(rng: np.random.Generator) -> dict[str, Array]:
    points = (rng.integers(0, 2**32, (128, 2)) >> rng.integers(0, 33, (128, 2))).astype(np.uint32)
    return {"Points": points, "Codes": np.zeros((128, 4), np.uint32), "BitsOut": np.zeros(128, _BITS)}


def _morton(outcome: Outcome) -> Iterator[Claim]:
    """Bit by bit, in text."""
    codes, counts, reverses = [], [], []
    for xy, xyz in outcome.inputs["Points"].tolist():
        low, high = f"{xy & 0xFFFF:016b}", f"{xy >> 16:016b}"
        two = "".join(b + a for a, b in zip(low, high, strict=True))
        parts = [f"{xyz >> 10 * axis & 1023:010b}" for axis in range(3)]
        three = "".join(c + b + a for a, b, c in zip(*parts, strict=True))
        gray = "".join("01"[a != b] for a, b in zip("0" + two, two, strict=False))
        codes.append([int(two, 2), int(three, 2), xy, int(gray, 2)])
        other = "0" if two[0] == "1" else "1"
        counts.append([31 - two.find("1"), 31 - two.rfind("1"), two.count("1"), 31 - two.find(other)])
        counts[-1] = [-1 if count == 32 else count for count in counts[-1]]
        reverses.append(int(two[::-1], 2))
    yield exact(outcome, "Codes", codes)
    found = outcome.outputs["BitsOut"]
    yield Claim("counts", np.stack([found[name] for name in _COUNTS], axis=-1), np.array(counts))
    yield Claim("reversed", found["reversed"], np.array(reverses, np.uint32))


def _color_inputs(rng: np.random.Generator) -> dict[str, Array]:
    """Sixty-fourths, which halves have exactly, without the odd halves, whose fractions would be ties."""
    sixty_fourths = rng.integers(-96, 129, (128, 4))
    sixty_fourths[sixty_fourths % 64 == 32] += 1
    return {
        "Colors": (sixty_fourths / 64).astype(np.float32),
        "Exponents": rng.integers(0, 2**32, 128).astype(np.uint32),
        "PackedColors": np.zeros((128, 4), np.uint32),
        "UnpackedColors": np.zeros((128, 8), np.float32),
    }


def _packed(outcome: Outcome) -> Iterator[Claim]:
    """Unpacked fractions are quotients, within 2.5 ULP."""
    colors, exponents = outcome.inputs["Colors"].astype(np.float64), outcome.inputs["Exponents"]
    halves = colors[:, :2].astype(np.float16)
    unorm = np.round(colors.clip(0, 1) * 255).astype(np.uint8)
    snorm = np.round(colors[:, 2:].clip(-1, 1) * 32767).astype(np.int16)
    parts = np.minimum(colors[:, :3].clip(0, 1) * [32, 64, 32], [31, 63, 31]).astype(np.uint32)
    small = parts[:, 0] + 32 * parts[:, 1] + 2048 * parts[:, 2]
    words = [part.view(np.uint32)[:, 0] for part in (halves, unorm, snorm)]
    yield exact(outcome, "PackedColors", np.stack([*words, small], axis=1))
    found = outcome.outputs["UnpackedColors"]
    yield Claim("halves", found[:, :2], halves.astype(np.float32))
    fractions = np.stack([unorm[:, 0] / 255, snorm[:, 0] / 32767], axis=1)
    yield Claim("fractions", found[:, 2:4], fractions, growth(2.5) * np.abs(fractions))
    mantissas = np.stack([exponents >> shift & 511 for shift in (0, 9, 18)], axis=1).astype(np.float64)
    yield Claim(
        "RGB9E5", found[:, 4:7], mantissas * 2.0 ** ((exponents >> 27).astype(np.int64) - 24)[:, None]
    )


def _record_inputs(rng: np.random.Generator) -> dict[str, Array]:
    words = rng.normal(size=(16, 32)).astype(np.float32).view(np.uint32)
    return {
        "UniformRecords": words.view(np.uint8),
        "Records": np.zeros((16, 28 * 4), np.uint8),
        "PackedRecords": np.zeros((16, 21 * 4), np.uint8),
    }


def _records(outcome: Outcome) -> Iterator[Claim]:
    records = outcome.inputs["UniformRecords"].view(np.uint32)[:, _STD140]
    yield Claim("std430", outcome.outputs["Records"].view(np.uint32)[:, _STD430], records)
    turned = records.copy()
    for me, (record, new) in enumerate(zip(records, turned, strict=True)):
        inners = np.roll(record[_INNERS].reshape(3, 3)[::-1], -1, axis=0)
        inners[[0, 1, 2], [1 + (me + k) % 2 for k in range(3)]] += np.uint32(me)
        new[_INNERS] = inners.ravel()
        column = new[_FRAME].reshape(2, 3)[me % 2]
        column[:] = np.roll(column, 1)
        new[_TAIL][me % 2] = record[me % 3]
    yield Claim("scalar", outcome.outputs["PackedRecords"].view(np.uint32), turned)


def _atomic_inputs(rng: np.random.Generator) -> dict[str, Array]:
    kinds = np.zeros(1, _KINDS)
    kinds["signed_results"], kinds["unsigned_results"] = (
        [5, 99, -99, -1, 6, 7],
        [5, 2**31, 0, 2**32 - 1, 6, 7],
    )
    return {
        "Values": rng.integers(-(2**31), 2**31, 256).astype(np.int32),
        "BufferResults": kinds,
        "SharedResults": np.zeros(12, np.uint32),
        "Tickets": np.zeros(256, np.uint32),
        "Exchange": np.zeros(3, np.uint32),
        "Cells": np.zeros(300, np.uint32),
    }


def _reductions(values: Array, start: Array) -> list[int]:
    """Add, min, max, and, or, xor of values and of what was there before."""
    operations = (np.add, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    return [
        int(operation.reduce(np.append(values, first), dtype=values.dtype))
        for operation, first in zip(operations, start, strict=True)
    ]


def _atomics(outcome: Outcome) -> Iterator[Claim]:
    """The owner of each ticket and cell depends on the order; the set of issued tickets does not."""
    values, results = outcome.inputs["Values"], outcome.outputs["BufferResults"][0]
    before = outcome.inputs["BufferResults"][0]
    words = values.view(np.uint32)
    yield Claim("signed", results["signed_results"], np.array(_reductions(values, before["signed_results"])))
    yield Claim(
        "unsigned", results["unsigned_results"], np.array(_reductions(words, before["unsigned_results"]))
    )
    signed = _reductions(values[:64], np.array([0, 2**31 - 1, -(2**31), -1, 0, 0], np.int32))
    unsigned = _reductions(words[:64], np.array([0, 2**32 - 1, 0, 2**32 - 1, 0, 0], np.uint32))
    yield exact(outcome, "SharedResults", [value % 2**32 for value in signed] + unsigned)
    yield Claim("tickets, sorted", np.sort(outcome.outputs["Tickets"]), np.arange(256))
    exchange = outcome.outputs["Exchange"]
    yield Claim("next_ticket", exchange[:1], np.array([256]))
    yield Claim("last + old_sum", exchange[1:].sum(keepdims=True), np.array([256 * 257 // 2]))
    cells, taken = outcome.outputs["Cells"], np.zeros(300, bool)
    for word in words.tolist():
        taken[next(at % 300 for at in range(word % 300, word % 300 + 300) if not taken[at % 300])] = True
    yield Claim("cells taken", cells != 0, taken)
    yield Claim("cells, sorted", np.sort(cells)[44:], np.arange(1, 257))


def _atomics64(outcome: Outcome) -> Iterator[Claim]:
    distances = outcome.inputs["Distances"].astype(np.uint64)
    nearest = min((distance, index) for index, distance in enumerate(distances.tolist()))
    yield exact(outcome, "Results", np.array([distances.sum(), nearest[0] << 32 | nearest[1]], np.uint64))


def _scattered(outcome: Outcome) -> Iterator[Claim]:
    """In any order, a sum of at most 512 terms."""
    values, bins = outcome.inputs["Values"].astype(np.float64), outcome.inputs["Bins"]
    size = np.bincount(bins, np.abs(values), 7)
    yield close(outcome, "Sums", np.bincount(bins, values, 7), growth(512) * size)


def _table_inputs(rng: np.random.Generator) -> dict[str, object]:
    return {
        "Tables": [rng.integers(-99, 99, length).astype(np.int32) for length in (1, 7, 20, 33)],
        "Results": np.zeros(192, np.int32),
        "Lengths": np.zeros(6, np.uint32),
    }


def _tables(outcome: Outcome) -> Iterator[Claim]:
    tables, results = outcome.inputs["Tables"], []
    for group in range(6):
        table = tables[group % 4].astype(np.int64)
        shifted = (np.arange(32)[:, None] + np.arange(len(table))) % len(table)
        results.append(shifted @ table * tables[2][0])
    yield exact(outcome, "Results", np.concatenate(results))
    yield exact(outcome, "Lengths", [len(tables[group % 4]) for group in range(6)])


def _quantised_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {
        "Inputs": rng.integers(-128, 128, (10, 32)).astype(np.int8),
        "Weights": rng.integers(-128, 128, (16, 32)).astype(np.int8),
        "Outputs": np.zeros((10, 16), np.int8),
        "Sums": np.zeros((10, 32), np.uint16),
    }


def _quantised(outcome: Outcome) -> Iterator[Claim]:
    sums = outcome.inputs["Inputs"].astype(np.int32) @ outcome.inputs["Weights"].T.astype(np.int32)
    yield exact(outcome, "Outputs", np.floor(sums / 256 + 0.5).clip(-128, 127))
    yield exact(outcome, "Sums", sums.view(np.uint16))


def _polynomial_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {
        "Coefficients": rng.normal(size=8),
        "Places": rng.uniform(-2, 2, 128),
        "Values": np.zeros((128, 2)),
    }


def _polynomials(outcome: Outcome) -> Iterator[Claim]:
    """Two roundings in each of seven steps, and in the derivative those of the values it is built on.

    Vulkan asks of doubles no more precision than of floats.
    """
    coefficients, places = outcome.inputs["Coefficients"], outcome.inputs["Places"]
    wanted = [np.polyval(part, places) for part in (coefficients, np.polyder(coefficients))]
    sizes = [np.polyval(np.abs(part), np.abs(places)) for part in (coefficients, np.polyder(coefficients))]
    yield close(outcome, "Values", np.stack(wanted, axis=1), growth(28) * np.stack(sizes, axis=1))


def _blend_inputs(rng: np.random.Generator) -> dict[str, Array]:
    """Sixteenths, whose products and sums float16 has exactly."""
    blank = np.zeros((128, 4), np.float16)
    sources, under = (rng.integers(0, 17, (2, 128, 4)) / 16).astype(np.float16)
    return {"Sources": sources, "Destinations": under, "Results": blank, "Opaque": np.zeros(128, np.uint16)}


def _blended(outcome: Outcome) -> Iterator[Claim]:
    sources, under = (outcome.inputs[name].astype(np.float64) for name in ("Sources", "Destinations"))
    yield exact(outcome, "Results", np.minimum(sources + under * (1 - sources[:, 3:]), 1))
    yield exact(outcome, "Opaque", sources[:, 3] > 0.75)


PROGRAMS = (
    Program("big_integers", 2, _big_inputs, _big),
    Program("morton", 2, _morton_inputs, _morton),
    Program("packing", 2, _color_inputs, _packed),
    Program(
        "layouts",
        1,
        _record_inputs,
        _records,
        push={"reverse": 1, "rotation": 2},
        needs=("scalarBlockLayout",),
    ),
    Program("atomics", 4, _atomic_inputs, _atomics),
    Program(
        "atomics64",
        8,
        lambda rng: {
            "Distances": rng.integers(2**28, 2**32, 512).astype(np.uint32),
            "Results": np.array([0, 2**64 - 1], np.uint64),
        },
        _atomics64,
        needs=("shaderInt64", "shaderBufferInt64Atomics"),
    ),
    Program(
        "scatter_add",
        8,
        lambda rng: {
            "Values": rng.normal(size=512).astype(np.float32),
            "Bins": rng.integers(0, 7, 512).astype(np.uint32),
            "Sums": np.zeros(7, np.float32),
        },
        _scattered,
        needs=("shaderBufferFloat32AtomicAdd", "VK_EXT_shader_atomic_float"),
    ),
    Program("buffer_array", 6, _table_inputs, _tables, push={"shared_table": 2}),
    Program(
        "quantised_dot",
        10,
        _quantised_inputs,
        _quantised,
        push={"shift": 8},
        needs=("shaderInt16", "storageBuffer8BitAccess", "storageBuffer16BitAccess"),
    ),
    Program("horner_double", 2, _polynomial_inputs, _polynomials, needs=("shaderFloat64",)),
    Program(
        "half_blend",
        2,
        _blend_inputs,
        _blended,
        needs=("shaderFloat16", "shaderInt16", "storageBuffer16BitAccess"),
    ),
)
