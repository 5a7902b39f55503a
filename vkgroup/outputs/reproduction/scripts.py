"""The case of a folder as a script of Amber, VkRunner or LLVM's offload-test-suite.

A script first expects the subgroups and active lanes that the device recorded, since the expected results are
for these; then the results that the specification defines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from vkgroup.base.files import read_text, writing
from vkgroup.base.numbers import shortest
from vkgroup.device import Capabilities
from vkgroup.outputs.reproduction.folder import SCRIPTS
from vkgroup.outputs.reproduction.program import NoProgram, RecordedCase
from vkgroup.outputs.reproduction.values import Array, Json, load
from vkgroup.programs.glsl_types import planes, to_planes

_OUTPUTS = "outputs"
"""The name of the buffer with the results."""

_PER_LINE = 16
"""Most words of an expectation, and of a line."""

_SUBGROUPS = "# The subgroups and the active lanes for which the results are."


def write_script(folder: Path, record: Json, kind: str, capabilities: Capabilities) -> Path:
    """Write a case as a script into its folder, and return the script's path; `kind` is a key of `SCRIPTS`.

    Raises `NoProgram`: the format cannot express the case.
    """
    case = ScriptedCase(folder, record, capabilities)
    case.check()
    lines = list({"amber": _amber, "vkrunner": _vkrunner, "offload": _offload}[kind](case))
    path = folder / SCRIPTS[kind]
    with writing(path):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


ExpectedWords = tuple[int, str, Array]
"""The index of the first of consecutive words; ``"EQ"``, ``"GE"`` or ``"LE"``; the words to compare with."""


@dataclass(frozen=True)
class ScriptedCase(RecordedCase):
    """The record of a case for scripts in any format."""

    capabilities: Capabilities

    def check(self) -> None:
        """Raise `NoProgram` if no script can express the case."""
        super().check()
        if not self.is_compute:
            raise NoProgram("there are scripts for compute shaders only")
        if self.checks_masks:
            raise NoProgram("active masks are wrong, and scripts have no comparison for them")
        if self.is_float and self.result.scalar.bits != 32:
            raise NoProgram("scripts compare floats of 32 bits only")
        if self.has_range and not self.is_float:
            raise NoProgram("several integers are legal")
        if _OUTPUTS not in (name for _, name, _ in self.buffers):
            raise NoProgram("the buffer of the results is not bound")
        if not self.results:
            raise NoProgram("no result is defined")

    @property
    def is_float(self) -> bool:
        """Whether results are compared as floats, and not bit by bit."""
        return self.result.scalar.kind == "float" and not self.lanes["bits"]

    @property
    def remarks(self) -> Iterator[str]:
        """The verdict, the tested rule and the author, as comments."""
        record, size = self.record, self.size or self.record["device"]["subgroup_size"]
        yield f"# Expected values are for subgroups of {size}."  # read by vkgroup.amber
        yield f"# {record['case']}: {record['result']['status']} on {record['device']['name']}"
        yield f"# {' '.join(record['sentence'].split())}"
        yield f"# Written by vkgroup {record['vkgroup']}."

    @property
    def assembly(self) -> str:
        """The shader as text."""
        text = next(shader["text"] for shader in self.record["shaders"] if shader["stage"] == "compute")
        return read_text(self.folder / text).rstrip("\n")

    @property
    def groups(self) -> list[int]:
        """Numbers of workgroups in x, y and z."""
        given = self.arguments["groups"]
        return [*(given["parts"] if isinstance(given, dict) else [given]), 1, 1][:3]

    @cached_property
    def buffers(self) -> list[tuple[int, str, Array]]:
        """The number of each binding, the name of its buffer, and the words in it before the dispatch."""
        found, memory = [], self.step["outputs"][self.lanes["source"]["output"]].get("memory")
        for binding, value in self.bindings:
            is_output = value.get("number") == memory is not None
            words = np.ascontiguousarray(load(self.folder, value["file"])).reshape(-1).view(np.uint32)
            found.append((binding, _OUTPUTS if is_output else f"inputs{binding}", words))
        return found

    @cached_property
    def recorded(self) -> Array:
        """The words of the results after the dispatch, on the device."""
        output = self.step["outputs"][self.lanes["source"]["output"]]
        words: Array = load(self.folder, output["file"]).reshape(-1).view(np.uint32)
        return words

    @property
    def subgroups(self) -> Iterator[ExpectedWords]:
        """The subgroups and the active lanes for which the results are."""
        words = self.recorded[: self.lanes["record_words"]]
        return _expected(np.arange(len(words)), words, "EQ")

    @cached_property
    def results(self) -> list[ExpectedWords]:
        """The defined results."""
        arrays, result = self.arrays, self.result
        defined = (arrays["defined"] & arrays["recorded"][..., None]).reshape(-1, result.components)
        at = arrays["at"].reshape(-1, planes(result))
        bounds = [("GE", "least"), ("LE", "greatest")] if self.has_range else [("EQ", "least")]
        found: list[ExpectedWords] = []
        for way, name in bounds:
            values = arrays[name].reshape(-1, result.components)
            if self.is_float:
                words = values.astype(np.float32).view(np.uint32)
                used = defined & (~np.isnan(values) | (way == "EQ"))
            else:
                words = to_planes(values, result).T
                # A word is compared if all components in it are defined.
                used = np.repeat(defined.all(axis=1, keepdims=True), words.shape[1], axis=1)
            found += _expected(at[used], words[used], way)
        return found


def _expected(at: Array, words: Array, way: str) -> Iterator[ExpectedWords]:
    """Yield the expectations of words at places, each of as many words as follow each other."""
    order = np.argsort(at, kind="stable")
    at, words = at[order], words[order]
    cuts = np.flatnonzero(np.diff(at) != 1) + 1
    for places, values in zip(np.split(at, cuts), np.split(words, cuts), strict=True):
        for first in range(0, len(places), _PER_LINE):
            yield int(places[first]), way, values[first : first + _PER_LINE]


def _amber(case: ScriptedCase) -> Iterator[str]:
    """Yield the lines of a script of Amber."""
    yield "#!amber"
    yield from case.remarks
    if case.size is not None:
        yield "DEVICE_EXTENSION VK_EXT_subgroup_size_control"
        yield "DEVICE_FEATURE SubgroupSizeControl.subgroupSizeControl"
    version = case.modules["compute"].version
    yield f"SHADER compute shader SPIRV-ASM TARGET_ENV spv{version[0]}.{version[1]}"
    yield case.assembly
    yield "END"
    for _, name, words in case.buffers:
        is_float = case.is_float and name == _OUTPUTS
        yield f"BUFFER {name} DATA_TYPE {'float' if is_float else 'uint32'} DATA"
        for start in range(0, len(words), _PER_LINE):
            yield "  " + " ".join(_number(word, is_float) for word in words[start : start + _PER_LINE])
        yield "END"
    yield "PIPELINE compute pipeline"
    constants = "".join(f" SPECIALIZE {number} AS uint32 {value}" for number, value in case.specialization)
    yield f"  ATTACH shader{constants}"
    for binding, name, _ in case.buffers:
        yield f"  BIND BUFFER {name} AS storage DESCRIPTOR_SET 0 BINDING {binding}"
    if case.size is not None:
        yield f"  SUBGROUP shader\n    REQUIRED_SIZE {case.size}\n  END"
    yield "END"
    yield f"RUN pipeline {' '.join(map(str, case.groups))}"
    for title, expectations in ((_SUBGROUPS, case.subgroups), ("# The results.", case.results)):
        yield title
        for at, way, words in expectations:
            numbers = " ".join(_number(word, case.is_float) for word in words)
            yield f"EXPECT {_OUTPUTS} IDX {4 * at} {way} {numbers}"


def _number(word: np.uint32, is_float: bool) -> str:
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


def _vkrunner(case: ScriptedCase) -> Iterator[str]:
    """Yield the lines of a script of VkRunner."""
    if case.size is not None or case.specialization:
        lacking = "specialization constants" if case.size is None else "required subgroup sizes"
        raise NoProgram(f"VkRunner has no {lacking}")
    needs = case.requirements(case.capabilities)
    if others := sorted(set().union(*needs.struct_features.values())):
        raise NoProgram(f"VkRunner knows few features of extensions; this needs {', '.join(others)}")
    yield from case.remarks
    yield f"[require]\nvulkan {needs.version[0]}.{needs.version[1]}.0"
    yield from sorted(name for name, core in needs.extensions.items() if not core or core > needs.version)
    yield from sorted(needs.core_features)
    yield f"\n[compute shader spirv]\n{case.assembly}\n\n[test]"
    for binding, _, words in case.buffers:
        for start in range(0, len(words), _PER_LINE):
            numbers = " ".join(map(str, words[start : start + _PER_LINE]))
            yield f"ssbo {binding} subdata uint {4 * start} {numbers}"
    yield f"compute {' '.join(map(str, case.groups))}"
    (binding,) = (binding for binding, name, _ in case.buffers if name == _OUTPUTS)
    for title, expectations in ((_SUBGROUPS, case.subgroups), ("# The results.", case.results)):
        yield title
        is_float = case.is_float and title != _SUBGROUPS
        for at, way, words in expectations:
            numbers = " ".join(map(repr, (words.view(np.float32) if is_float else words).tolist()))
            sign = {"EQ": "==", "GE": ">=", "LE": "<="}[way]
            yield f"probe ssbo {'float' if is_float else 'uint'} {binding} {4 * at} {sign} {numbers}"


def _offload(case: ScriptedCase) -> Iterator[str]:
    """Yield the lines of YAML for the offload-test-suite, whose `offloader` runs it with the SPIR-V."""
    if case.size is not None:
        raise NoProgram("the offload-test-suite has no required subgroup sizes")
    expected = _whole_results(case)
    yield from case.remarks
    yield f"# Run: offloader {SCRIPTS['offload']} {case.spirv['compute']}"
    yield "---\nShaders:\n  - Stage: Compute\n    Entry: main\n    SpecializationConstants:"
    for number, value in case.specialization:
        yield f"      - {{ ConstantID: {number}, Type: UInt32, Value: {value} }}"
    yield f"DispatchParameters:\n  DispatchGroupCount: {case.groups}\nBuffers:"
    for _, name, words in (*case.buffers, (0, "expected", expected)):
        yield f"  - Name: {name}\n    Format: UInt32\n    Stride: 4\n    Data: {words.tolist()}"
    yield "Results:\n  - Result: results\n    Rule: BufferExact"
    yield f"    Actual: {_OUTPUTS}\n    Expected: expected\nDescriptorSets:\n  - Resources:"
    for binding, name, _ in case.buffers:
        yield f"    - Name: {name}\n      Kind: RWStructuredBuffer"
        yield f"      DirectXBinding: {{ Register: {binding}, Space: 0 }}"
        yield f"      VulkanBinding: {{ Binding: {binding} }}"
    yield "..."


def _whole_results(case: ScriptedCase) -> Array:
    """Return the words of the whole buffer of the results, since BufferExact compares all of it."""
    if case.has_range:
        raise NoProgram("several results are legal, and BufferExact compares with one")
    if not case.arrays["defined"][case.arrays["recorded"]].all():
        raise NoProgram("some results are undefined, and BufferExact compares all of them")
    words = case.recorded.copy()
    for at, _, values in case.results:
        floats = values.view(np.float32)
        if case.is_float and (np.isnan(floats) | (floats == 0)).any():
            raise NoProgram("zeros and NaNs are expected in any form, and BufferExact compares bits")
        words[at : at + len(values)] = values
    return words
