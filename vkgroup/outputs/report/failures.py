"""Failures as data for the page: text, command, lanes and shader; each line of shaders is stored once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

import msgspec

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import case_named, family_of
from vkgroup.conformance.rules import rule_of
from vkgroup.device import Capabilities
from vkgroup.dispatch.reference.capabilities import DEFAULT_SIZE, SIZES
from vkgroup.outputs.history import RunRecord
from vkgroup.outputs.report.capabilities import capabilities_of, device_of
from vkgroup.outputs.report.inputs import ReportInputs
from vkgroup.outputs.report.table import Numbered, axes_of, split
from vkgroup.record.causes.text import without_rule
from vkgroup.record.record import Result
from vkgroup.spec.strength import STRENGTHS
from vkgroup.spirv import Module
from vkgroup.workers.opening import open_device, select

_COUNTED = re.compile(r"\d+ of \d+ .* wrong")
"""The line of a detail after the description of the case."""

_QUOTED = re.compile(r"^> +(\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class ShaderText:
    """A shader's text."""

    source: str  # GLSL or HLSL
    marked: tuple[int, ...]  # numbers of the lines that execute what failed, from 1


class _Caught(Exception):
    """Raised when a shader is passed to the compiler."""


class _Catcher(Executor):
    """An executor that stops when a shader is passed to the compiler."""

    source: str | None = None

    def compile(self, source: str, *, stage: str, **options: Any) -> Module:
        self.source = source
        raise _Caught

    def transform_module(self, module: Module, source: str | None = None) -> Module:
        self.source = source
        raise _Caught

    def plain(self, source: str, stage: str) -> Module:
        # Other shaders of the pipeline are not used, because execution stops at the case's shader.
        return cast(Module, None)


class CaseShaders:
    """Generates the shaders of cases for one device."""

    def __init__(self, size: int, capabilities: Capabilities | None = None, seed: int = 0) -> None:
        self._device = open_device(select(f"reference:{size if size in SIZES else DEFAULT_SIZE}"))
        self._catcher = _Catcher(self._device, seed=seed)
        if capabilities is not None:
            self._catcher.capabilities = capabilities
        self._made: dict[str, str | None] = {}

    def of(self, name: str, detail: str = "", code: str = "") -> ShaderText | None:
        """Return a case's shader; None if this version of the suite lacks the case or its text."""
        if name not in self._made:
            self._made[name] = self._source(name)
        source = self._made[name]
        return None if source is None else ShaderText(source, _marked(source, name, detail, code))

    def _source(self, name: str) -> str | None:
        case = case_named(name)
        if case is None:
            return None
        self._catcher.source = None
        try:
            family_of(case).judge(self._catcher, [case])
        except _Caught:
            pass
        except Exception:
            # A family may use the device before it compiles; then there is no shader to show.
            return None
        return self._catcher.source

    def close(self) -> None:
        """Free the device."""
        self._catcher.close()
        self._device.close()


def _marked(source: str, name: str, detail: str, code: str) -> tuple[int, ...]:
    """Return the lines quoted in the failure, else the lines with the code, else calls of the operation."""
    lines = [line.strip() for line in source.splitlines()]
    quoted = {line.strip() for line in _QUOTED.findall(detail)}
    found = [number for number, line in enumerate(lines, 1) if line in quoted]
    parts = [part.strip() for part in code.splitlines() if part.strip()]
    found = found or [number for number, line in enumerate(lines, 1) if any(part in line for part in parts)]
    if found:
        return tuple(found)
    return next(filter(None, (_calls(lines, word) for word in _operations(name))), ())


def _operations(name: str) -> list[str]:
    """Return the parts of a case's name that may be the tested function or variable."""
    named = [axes_of(split(name)[0])[2], *(part for part in name.split(".") if not part.islower())]
    # Programs of subgroup operations write their results in this form.
    return [*named, "put"]


def _calls(lines: list[str], operation: str) -> tuple[int, ...]:
    """Return the numbers of the lines with a word, except comments and declarations of it."""
    calls = re.compile(rf"\b{re.escape(operation)}\b")
    return tuple(
        number
        for number, line in enumerate(lines, 1)
        if calls.search(line) and not line.startswith(("//", "#", "void "))
    )


MOST_LANES = 128

Hex = Annotated[str, msgspec.Meta(pattern=r"\A0x[0-9a-f]{1,32}\Z")]
"""A mask of lanes."""

_LANE = re.compile(
    r"^(?P<where>.*?)\s*\blane (?P<lane>\d{1,3})\b\)?,?(?P<place>[^:]*):"
    r"(?: input (?P<input>.+?))?(?: operand (?P<operand>.+?))? expected (?P<expected>.+?),? got (?P<got>.+)$"
)
_ACTIVE = re.compile(r"active (0x[0-9a-f]{1,32})\b")
_SLOT = re.compile(r"slot (\d{1,6})\b")
_SIZE = re.compile(r"\.size(\d{1,3})(?:\.|$)")
_OF_ENTRY = re.compile(r"^(?:invocation \d+ of )?(?P<group>.*?)\s*\(?(?P<subgroup>subgroup \d+)?,?$")
_ROWS = ("input", "operand", "expected", "got")


def drawing_of(result: Result, size: int) -> dict[str, Any] | None:
    """Return the lanes of a failure in the form of `vkgroup.conformance.evidence`; None if unknown.

    `size`: the device's subgroup size, 0 if unknown.

    Notes
    -----
    Lanes that are read from text are marked ``partial``: only the lanes that the text names have values, and
    other lanes of the subgroup may be wrong, too.
    """
    recorded = result.evidence
    if recorded is not None and _drawable(recorded):
        return recorded
    required = _SIZE.search(result.case)
    return _from_words(result.detail, int(required[1]) if required else size)


class _Mask(msgspec.Struct):
    """A mask of lanes in evidence."""

    name: str
    mask: Hex
    wrong: Hex


class _Evidence(msgspec.Struct):
    """The evidence that the page can draw; see `vkgroup.conformance.evidence`."""

    where: str
    slot: int
    size: Annotated[int, msgspec.Meta(gt=0, le=MOST_LANES)]
    wrong: list[int]
    rows: dict[str, list[str | None]]
    active: Hex | None = None
    unit: str = ""
    names: list[str] | None = None
    masks: list[_Mask] = []


def _drawable(data: dict[str, Any]) -> bool:
    """Return whether the page can draw recorded evidence, which may be invalid in a file."""
    try:
        evidence = msgspec.convert(data, _Evidence)
    except ValueError:
        return False
    rows = all(len(row) == evidence.size for row in evidence.rows.values())
    return rows and (evidence.names is None or len(evidence.names) == evidence.size)


def _from_words(detail: str, size: int) -> dict[str, Any] | None:
    """Return the lanes of the first subgroup named in the text."""
    found = [match for line in detail.splitlines() if (match := _LANE.match(line.strip()))]
    if not found:
        return None
    first = found[0]
    same = [match for match in found if _key(match) == _key(first)]
    lanes = {int(match["lane"]): match for match in reversed(same)}
    active = _ACTIVE.search(first["place"])
    needed = max(*lanes, int(active[1], 16).bit_length() - 1 if active else 0) + 1
    size = max(size, 1 << (needed - 1).bit_length())
    if size > MOST_LANES:
        return None
    rows: dict[str, list[str | None]] = {}
    for row in _ROWS:
        if first[row] is not None:
            rows[row] = [lanes[lane][row] if lane in lanes else None for lane in range(size)]
    slot = _SLOT.search(first["place"])
    return {
        "where": _where(first["where"]),
        "slot": int(slot[1]) if slot else 0,
        "size": size,
        "active": active[1] if active else None,
        "wrong": sorted(lanes),
        "rows": rows,
        "partial": True,
    }


def _where(words: str) -> str:
    """Return the subgroup as text, without the example invocation."""
    match = _OF_ENTRY.match(words)
    parts = [match["group"], match["subgroup"]] if match else [words]
    return " ".join(part for part in parts if part).strip(" (,")


def _key(match: re.Match[str]) -> tuple[str, str]:
    return _where(match["where"]), match["place"]


_REPEAT = "repeat: "


class Failures:
    """Collects the failures of runs."""

    def __init__(self) -> None:
        self._lines = Numbered()
        self._shaders = Numbered()
        self._rules = Numbered()
        self._makers: list[tuple[int, Capabilities | None, int, CaseShaders]] = []

    def of(
        self, run: RunRecord, against: Sequence[Result], inputs: ReportInputs
    ) -> dict[str, dict[str, Any]]:
        """Return the failures of a run by case name."""
        if not against:
            return {}
        size, capabilities = _subgroup_size(run, inputs), capabilities_told(run, inputs)
        shaders = self._maker(size, capabilities, run.info.seed or 0)
        return {result.case: self._one(result, size, shaders, capabilities) for result in against}

    def close(self) -> None:
        """Free the shader generators."""
        for *_, shaders in self._makers:
            shaders.close()

    def _maker(self, size: int, capabilities: Capabilities | None, seed: int) -> CaseShaders:
        """Return the shader generator for a device and a seed, shared by all runs."""
        for *known, shaders in self._makers:
            if known == [size, capabilities, seed]:
                return shaders
        made = CaseShaders(size, capabilities, seed)
        self._makers.append((size, capabilities, seed, made))
        return made

    def texts(self) -> dict[str, Any]:
        """Return the lines of all shaders, each shader as a list of line numbers, and the violated rules."""
        rules = [
            {"document": document, "quote": quote, "strength": STRENGTHS.get(strength, strength)}
            for document, quote, strength in self._rules
        ]
        return {
            "lines": list(self._lines),
            "shaders": [list(shader) for shader in self._shaders],
            "rules": rules,
        }

    def _one(
        self, result: Result, size: int, shaders: CaseShaders, capabilities: Capabilities | None
    ) -> dict[str, Any]:
        case = case_named(result.case)
        lines = without_rule(result.detail).splitlines()
        if case is not None and (lines[:1] == [case.sentence] or _COUNTED.match("".join(lines[1:2]))):
            del lines[0]  # the case's description, which an older version may have worded differently
        commands = [line.removeprefix(_REPEAT) for line in lines if line.startswith(_REPEAT)]
        found: dict[str, Any] = {
            "words": "\n".join(line for line in lines if not line.startswith(_REPEAT)),
            "command": commands[-1] if commands else "",
        }
        if case is not None:
            found["sentence"] = case.sentence
        rule = rule_of(result, capabilities)
        if rule:
            found["rule"] = self._rules((rule["document"], rule["quote"], rule["strength"]))
        drawing = drawing_of(result, size)
        if drawing is not None:
            found["lanes"] = drawing
        shader = shaders.of(result.case, result.detail, str((drawing or {}).get("code", "")))
        if shader is not None:
            numbers = tuple(self._lines(line) for line in shader.source.rstrip().splitlines())
            found |= {"shader": self._shaders(numbers), "marked": list(shader.marked)}
        return found


def _subgroup_size(run: RunRecord, inputs: ReportInputs) -> int:
    """Return the subgroup size of a run's device; 0 if unknown."""
    size = run.summary.get("subgroup_size")
    if isinstance(size, int):
        return size
    capabilities = capabilities_told(run, inputs)
    return capabilities.subgroup.size if capabilities is not None else 0


def capabilities_told(run: RunRecord, inputs: ReportInputs) -> Capabilities | None:
    """Return the capabilities of a run's device, from the run or from a probe of the device."""
    for told in (run, *inputs.probes):
        capabilities = capabilities_of(told)
        if capabilities is not None and device_of(told) == device_of(run):
            return capabilities
    return None
