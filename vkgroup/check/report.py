"""Report of a check: its findings and questions, and what the check covered.

A question is about errors that occur with the generated inputs, and disappear with other generated inputs.
Only the author of the shader's host knows which values it passes. So `check` asks, instead of reporting an
error, and names the values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from vkgroup.base.errors import InternalError, InvalidInput
from vkgroup.check.device_jobs import SampledImage
from vkgroup.check.findings import (
    DISTURBING,
    Allowance,
    AllowedFinding,
    Coverage,
    Finding,
    RunParameters,
    SourceLocation,
    SourceLocations,
    join,
    ranges,
)
from vkgroup.check.runs import CheckedRun
from vkgroup.check.tracing import FindingTrace

LENGTH = ".length()"
"""End of the name of a value that is the length of an array."""

_MOST_NAMED = 6
"""Maximum number of values that a question names."""


@dataclass(frozen=True, slots=True)
class GeneratedValue:
    """A generated value that causes an error."""

    name: str  # its name in the shader
    value: int | str  # the value with the error; words for contents
    other: int | str  # a value without it
    option: str  # the option that sets it
    is_default: bool = False  # whether it is the default of a specialization constant

    def __str__(self) -> str:
        return f"{self.name} = {self.value}"

    @property
    def is_length(self) -> bool:
        """Whether it is the length of an array."""
        return self.name.endswith(LENGTH)


@dataclass(frozen=True, slots=True)
class Question:
    """Errors that occur only with certain generated values.

    Attributes
    ----------
    values : the generated values that cause the errors.
    findings : the errors, as findings.
    tried : whether the values ran at one subgroup size only.
    """

    values: tuple[GeneratedValue, ...]
    findings: tuple[Finding, ...]
    tried: bool = False

    @property
    def configurations(self) -> tuple[RunParameters, ...]:
        """The runs in which the errors occurred."""
        return tuple(dict.fromkeys(where for finding in self.findings for where in finding.configurations))

    @property
    def text(self) -> str:
        """The question in one sentence."""
        what = "; ".join(dict.fromkeys(finding.message for finding in self.findings[:2]))
        rest = len(self.findings) - 2
        what += f"; and {rest} more" * (rest > 0)
        listed = ", ".join(str(entry) for entry in self.values[:_MOST_NAMED])
        listed += ", …" * (len(self.values) > _MOST_NAMED)
        return f"can your host pass {listed}? {what}"

    @property
    def remedy(self) -> str:
        """The options that set the values, and values without the errors."""
        options = ", ".join(dict.fromkeys(entry.option for entry in self.values))
        others = ", ".join(f"{entry.name} = {entry.other}" for entry in self.values[:_MOST_NAMED])
        defaults = [entry.is_default for entry in self.values]
        origin = "default of the source" if all(defaults) else "generated value"
        origin += " and default of the source" * (any(defaults) and not all(defaults))
        return f"{origin}; it does not happen with {others}; give the value of your host: {options}"

    def to_json(self) -> dict[str, Any]:
        """Return the question as JSON data."""
        return {
            "text": self.text,
            "remedy": self.remedy,
            "values": [dataclasses.asdict(entry) for entry in self.values],
            "sizes": sorted({where.subgroup_size for where in self.configurations}),
            "findings": [finding.to_json() for finding in self.findings],
        }


class BarrierVerdict(StrEnum):
    """Whether runs need a barrier or an atomic as it is."""

    NEEDED = "needed"
    SMALLER = "needed at smaller sizes"
    WEAKER = "weaker is enough"
    UNNEEDED = "not needed"
    UNDECIDED = "not decided"


@dataclass(frozen=True, slots=True)
class BarrierResult:
    """What runs without a barrier show, and runs with a weaker one.

    Attributes
    ----------
    place, name : the barrier or atomic.
    verdict, text : the result, and in words.
    sizes : the subgroup sizes at which an error appears without it.
    error : the first of these errors; empty if there is none.
    """

    place: SourceLocation
    name: str
    verdict: BarrierVerdict
    text: str
    sizes: tuple[int, ...] = ()
    error: str = ""


def lines_of_sites(
    runs: Iterable[CheckedRun],
    missing_in: Callable[[Mapping[int, int]], frozenset[int]],
    places: SourceLocations,
) -> tuple[str, ...]:
    """Return the lines of sites that were not executed, in words: at no size, then at some sizes.

    `missing_in`: returns the positions of the sites that are missing in what was executed.
    """
    executed: dict[int, dict[int, int]] = {}
    for run in runs:
        executed.setdefault(run.configuration.subgroup_size, {}).update(run.executed)
    missing = {size: missing_in(found) for size, found in executed.items()}
    never = frozenset.intersection(*missing.values()) if missing else frozenset[int]()
    texts = [_lines(never, places)] if never else []
    sizes: dict[str, list[int]] = {}
    for size, positions in sorted(missing.items()):
        if positions - never:
            sizes.setdefault(_lines(positions - never, places), []).append(size)
    return (*texts, *(f"{text} at size {join(at)}" for text, at in sizes.items()))


def _lines(positions: frozenset[int], places: SourceLocations) -> str:
    """Return the lines of positions in words: ``"lines 3, 7 to 9"``."""
    found = [places[position] for position in positions]
    if not all(place.line for place in found):
        return f"{len(found)} instruction{'s' * (len(found) != 1)}"
    files = dict.fromkeys(place.file for place in found)
    texts = []
    for file in files:
        lines = sorted({place.line for place in found if place.file == file})
        text = f"line{'s' * (len(lines) != 1)} {ranges(lines)}"
        texts.append(text if len(files) == 1 else f"{text} of {file}")
    return ", ".join(texts)


@dataclass(frozen=True)
class Report:
    """The result of a check.

    Attributes
    ----------
    shader : its file.
    findings : the findings in the order of their lines; weak ones come last.
    covered : coverage of the runs.
    bindings, push : the inputs, in the form that `vkgroup.dispatch.Device.run` accepts.
    interrupted : the exception of Ctrl-C if it ended the check early; else None.
    no_verdict : what could not be compared because a run did not end.
    internal_errors : errors of vkgroup or the host while the shader ran on a device.
    questions : errors that occur only with some of the generated values.
    images : the sampled images with their levels, which replace those of `bindings`.
    traces : the steps around each finding, if the check was asked for them.
    compilations : lines on the compile-only devices that the shader was compiled for.
    barriers : the results of ``--barriers``.
    allowed : findings that are allowed; they are not among `findings`.
    unused_allowances : what would allow something that this check has not found.
    """

    shader: str
    findings: tuple[Finding, ...]
    covered: Coverage
    bindings: Mapping[tuple[int, int], Any] = field(default_factory=dict, compare=False, repr=False)
    push: bytes = b""
    interrupted: KeyboardInterrupt | None = None
    no_verdict: tuple[str, ...] = ()
    internal_errors: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    compilations: tuple[str, ...] = ()
    barriers: tuple[BarrierResult, ...] = ()
    allowed: tuple[AllowedFinding, ...] = ()
    unused_allowances: tuple[Allowance, ...] = ()
    images: Mapping[tuple[int, int], SampledImage] = field(default_factory=dict, compare=False, repr=False)
    traces: tuple[FindingTrace, ...] = field(default=(), compare=False, repr=False)

    def fails(self, strict: bool = False) -> bool:
        """Return whether there is a finding that is not weak; if `strict`, any finding, question or gap."""
        return any(strict or not finding.weak for finding in self.findings) or (
            strict and bool(self.questions or self.gaps)
        )

    @property
    def gaps(self) -> tuple[str, ...]:
        """What the check did not look at, although the shader does it or writes it."""
        absent = (pair for pair in self.covered.not_covered if ", emulated)" in pair[0])  # which was named
        gaps = [f"nothing ran on {what}: {why.partition(': ')[0]}" for what, why in absent]
        gaps += [f"not executed: {', '.join(names)}"] if (names := self.covered.not_executed) else []
        if self.covered.compared:
            return tuple(gaps)
        hides = any(entry.finding.kind in DISTURBING for entry in self.allowed)
        why = ", since the errors that are allowed make them meaningless" * hides
        return (*gaps, f"no number of the outputs was compared{why}")

    def require_verdict(self) -> None:
        """Raise the error of a check without a verdict.

        Raises
        ------
        InternalError
            vkgroup or the host failed.
        InvalidInput
            Nothing was found, and a run did not end.
        """
        if self.internal_errors:
            errors = "\n".join(self.internal_errors)
            raise InternalError(f"Internal error, which is no finding. Please report it.\n{errors}")
        if self.no_verdict and not self.findings:
            raise InvalidInput(
                f"{self.shader}: no verdict, because there is nothing to compare: "
                f"{'; '.join(self.no_verdict)}."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data: objects, lists, strings and numbers."""
        return {
            "shader": self.shader,
            "findings": [finding.to_json() for finding in self.findings],
            "questions": [question.to_json() for question in self.questions],
            "covered": self.covered.to_json(),
            "no_verdict": list(self.no_verdict),
            "internal_errors": list(self.internal_errors),
            "compilations": list(self.compilations),
            "barriers": [dataclasses.asdict(result) for result in self.barriers],
            "allowed": [entry.to_json() for entry in self.allowed],
            "unused_allowances": [dataclasses.asdict(entry) for entry in self.unused_allowances],
        }
