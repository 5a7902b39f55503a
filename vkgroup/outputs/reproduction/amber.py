"""The Amber script of a case's folder: the same dispatch, with the results that the specification defines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from vkgroup.base.files import read_text, writing
from vkgroup.base.numbers import shortest
from vkgroup.outputs.reproduction.program import NoProgram, RecordedCase
from vkgroup.outputs.reproduction.values import Array, Json, load
from vkgroup.programs.glsl_types import planes, to_planes

SCRIPT = "case.amber"

_PER_LINE = 16


def write_script(folder: Path, record: Json) -> Path:
    """Write the script of a case into the case's folder, and return its path.

    It first expects the subgroups and active lanes that the device recorded, since the expected results are
    for these; then the results.

    Raises `NoProgram`: the format cannot express the case.
    """
    case = RecordedCase(folder, record)
    case.check()
    if not case.is_compute:
        raise NoProgram("there are scripts for compute shaders only")
    if case.checks_masks:
        raise NoProgram("active masks are wrong, and scripts have no comparison for them")
    is_float = case.result.scalar.kind == "float" and not case.lanes["bits"]
    if is_float and case.result.scalar.bits != 32:
        raise NoProgram("scripts compare floats of 32 bits only")
    if case.has_range and not is_float:
        raise NoProgram("several integers are legal")
    path = folder / SCRIPT
    with writing(path):
        path.write_text("".join(f"{line}\n" for line in _lines(case, is_float)), encoding="utf-8")
    return path


def _lines(case: RecordedCase, is_float: bool) -> Iterator[str]:
    """Yield the lines of the script."""
    record, module = case.record, case.modules["compute"]
    yield "#!amber"
    yield f"# {record['case']}: {record['result']['status']} on {record['device']['name']}"
    yield f"# {' '.join(record['sentence'].split())}"
    yield f"# Written by vkgroup {record['vkgroup']}."
    version = module.version
    yield f"SHADER compute shader SPIRV-ASM TARGET_ENV spv{version[0]}.{version[1]}"
    text = next(shader["text"] for shader in record["shaders"] if shader["stage"] == "compute")
    yield read_text(case.folder / text).rstrip("\n")
    yield "END"
    output = case.step["outputs"][case.lanes["source"]["output"]]
    names = {}
    for binding, value in case.bindings:
        is_output = value.get("number") == output.get("memory") is not None
        names[binding] = "outputs" if is_output else f"inputs{binding}"
        yield from _buffer(names[binding], load(case.folder, value["file"]), is_float and is_output)
    if "outputs" not in names.values():
        raise NoProgram("the buffer of the results is not bound")
    yield "PIPELINE compute pipeline"
    constants = "".join(f" SPECIALIZE {number} AS uint32 {value}" for number, value in case.specialization)
    yield f"  ATTACH shader{constants}"
    for binding, name in names.items():
        yield f"  BIND BUFFER {name} AS storage DESCRIPTOR_SET 0 BINDING {binding}"
    if case.size is not None:
        yield f"  SUBGROUP shader\n    REQUIRED_SIZE {case.size}\n  END"
    yield "END"
    groups = case.arguments["groups"]
    counts = [*(groups["parts"] if isinstance(groups, dict) else [groups]), 1, 1][:3]
    yield f"RUN pipeline {' '.join(map(str, counts))}"
    yield "# The subgroups and the active lanes for which the results are."
    words = load(case.folder, output["file"]).reshape(-1).view(np.uint32)[: case.lanes["record_words"]]
    yield from _expectations(np.arange(len(words)), words, "EQ", is_float)
    yield "# The results."
    results = list(_results(case, is_float))
    if not results:
        raise NoProgram("no result is defined")
    yield from results


def _buffer(name: str, array: Array, is_float: bool) -> Iterator[str]:
    """Yield the declaration of a buffer with its contents."""
    words = np.ascontiguousarray(array).reshape(-1).view(np.uint32)
    yield f"BUFFER {name} DATA_TYPE {'float' if is_float else 'uint32'} DATA"
    for start in range(0, len(words), _PER_LINE):
        yield "  " + " ".join(_text(word, is_float) for word in words[start : start + _PER_LINE])
    yield "END"


def _results(case: RecordedCase, is_float: bool) -> Iterator[str]:
    """Yield the expectations of the defined results."""
    arrays, result = case.arrays, case.result
    defined = (arrays["defined"] & arrays["recorded"][..., None]).reshape(-1, result.components)
    at = arrays["at"].reshape(-1, planes(result))
    bounds = [("GE", "least"), ("LE", "greatest")] if case.has_range else [("EQ", "least")]
    for way, name in bounds:
        values = arrays[name].reshape(-1, result.components)
        if is_float:
            words = values.astype(np.float32).view(np.uint32)
            used = defined & (~np.isnan(values) | (way == "EQ"))
        else:
            words = to_planes(values, result).T
            # A word is compared if all components in it are defined.
            used = np.repeat(defined.all(axis=1, keepdims=True), words.shape[1], axis=1)
        yield from _expectations(at[used], words[used], way, is_float)


def _expectations(at: Array, words: Array, way: str, is_float: bool) -> Iterator[str]:
    """Yield the expectations of words at places, each of as many words as follow each other."""
    order = np.argsort(at, kind="stable")
    at, words = at[order], words[order]
    cuts = np.flatnonzero(np.diff(at) != 1) + 1
    for places, values in zip(np.split(at, cuts), np.split(words, cuts), strict=True):
        for first in range(0, len(places), _PER_LINE):
            part = " ".join(_text(word, is_float) for word in values[first : first + _PER_LINE])
            yield f"EXPECT outputs IDX {4 * places[first]} {way} {part}"


def _text(word: np.uint32, is_float: bool) -> str:
    """Return a word as a number of Amber, whose floats have a point, and NaN is the only other word."""
    if not is_float:
        return str(int(word))
    value = float(np.uint32(word).view(np.float32))
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "1.0e999" if value > 0 else "-1.0e999"
    text = shortest(value)
    return text if "." in text else text.replace("e", ".0e")
