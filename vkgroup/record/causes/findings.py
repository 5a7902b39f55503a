"""Known errors of drivers, read from ``vkgroup/findings/*.toml``.

One file describes one error::

    title = "`subgroupAllEqual` of vectors compares only the first component"
    driver = "SwiftShader"              # the beginning of the driver's name
    device = "*POLARIS*"                # the names of the devices that have it, if others are right
    seen = ["156.0"]                    # versions in which it was seen
    introduced = ""                     # the first version with it, if earlier ones are known to be right
    fixed = ""                          # the first version without it, if known
    filter = ["vote.*.subgroupAllEqual.*vec*"]   # the cases that may show it; none if no case does
    hypothesis = ["first_component"]    # what explains them; see vkgroup.conformance.diagnosis.hypotheses
    text = ""                           # or a regular expression that their details match
    hangs = false                       # whether the cases hang the GPU, so that they do not run by default
    shader = "all_equal_vector.comp"    # in shaders/findings
    reported = ""                       # where it was reported
    error = true                        # false for behaviour that the specification allows
    description = '''…'''               # Markdown

    [rule]                              # the violated sentence
    document = "KHR_shader_subgroup, revision 6, section 8.18"
    quote = "…"
    strength = "vulkan"                 # a key of vkgroup.spec.sentences.STRENGTHS

Files in ``compilers`` describe errors of front ends. One with a ``filter`` explains failures on every device.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from vkgroup.base.errors import InvalidInput
from vkgroup.record.record import Result
from vkgroup.spec.sentences import STRENGTHS

FOLDER = "findings"
"""The folder of the files, in the package."""


class ViolatedRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sentence of a specification that an error violates."""

    document: str
    quote: str
    strength: str = "vulkan"


class KnownError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One known error; the module describes the fields."""

    title: str
    driver: str
    seen: tuple[str, ...]
    description: str
    id: str = ""  # the file's name without its end, which `read_finding` sets
    introduced: str = ""
    fixed: str = ""
    device: str = ""
    filter: tuple[str, ...] = ()
    hypothesis: tuple[str, ...] = ()
    text: str = ""
    hangs: bool = False
    shader: str = ""
    reported: str = ""
    error: bool = True
    rule: ViolatedRule | None = None

    def applies_to(self, driver: DriverVersion) -> bool:
        """Return whether a driver may have the error: its name fits, and its version if it is known."""
        if not driver.name.lower().startswith(self.driver.lower()):
            return False
        if self.device and not fnmatchcase(driver.device, self.device):
            return False
        if not driver.version:
            return True
        early = self.introduced and driver.version < _numbers(self.introduced)
        late = self.fixed and driver.version >= _numbers(self.fixed)
        return not early and not late

    @property
    def since(self) -> str:
        """The oldest version in which the error was seen."""
        return min(self.seen, key=_numbers)

    def covers(self, case: str) -> bool:
        """Return whether a case may show the error."""
        return any(fnmatchcase(case, pattern) for pattern in self.filter)

    def explains(self, result: Result) -> bool:
        """Return whether a failure has the known behaviour, and not merely the known name."""
        if not self.covers(result.case):
            return False
        if any(name in self.hypothesis for name, _ in explanations(result)):
            return True
        if self.text:
            return bool(re.search(self.text, result.detail))
        return not self.hypothesis


@dataclass(frozen=True)
class DriverVersion:
    """The driver of a run: its name, the numbers of its version, and the device's name."""

    name: str
    version: tuple[int, ...]
    device: str = ""

    @classmethod
    def of(cls, name: str, info: str, device: str = "") -> DriverVersion:
        """Return the version from ``driverName`` and ``driverInfo``; it is empty if they have none."""
        match = re.search(r"\d+(\.\d+)+", info)
        return cls(name, _numbers(match[0]) if match else (), device)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def explanations(result: Result) -> list[tuple[str, str]]:
    """Return the hypotheses that explain a failure, each with its variant, the best first."""
    rows = diagnosis_of(result).get("hypotheses", [])
    wrong = diagnosis_of(result).get("wrong", 0)
    return [
        (row["name"], row["variant"])
        for row in rows
        if row["matched"] + row["open"] == wrong and not row["contradicted"]
    ]


def compatible(result: Result) -> frozenset[tuple[str, str]]:
    """Return the hypotheses that neither explain a failure nor contradict it."""
    return frozenset((name, variant) for name, variant in diagnosis_of(result).get("compatible", []))


def diagnosis_of(result: Result) -> dict[str, Any]:
    """Return the diagnosis in a result's evidence; empty if there is none."""
    diagnosis = (result.evidence or {}).get("diagnosis")
    return diagnosis if isinstance(diagnosis, dict) else {}


def read_finding(name: str, content: bytes) -> KnownError:
    """Return the known error in a file's content; `name` is the file's name without its end.

    Raises InvalidInput: the file is no TOML, or a field is missing, unknown or has a wrong value.
    """
    try:
        finding = msgspec.convert(tomllib.loads(content.decode("utf-8")), KnownError)
        if not finding.seen or not all(map(_numbers, finding.seen)):
            raise ValueError("seen: needs at least one version, and each version needs a number")
        if finding.rule is not None and finding.rule.strength not in STRENGTHS:
            raise ValueError(f"rule.strength: {finding.rule.strength!r} is none of {', '.join(STRENGTHS)}")
        re.compile(finding.text)
    except (ValueError, re.error) as error:
        raise InvalidInput(f"vkgroup/{FOLDER}/{name}.toml is wrong: {error}. Correct the file.") from error
    return msgspec.structs.replace(finding, id=name)


@cache
def all_findings() -> tuple[KnownError, ...]:
    """Return all known errors, by driver and file name."""
    folder = files("vkgroup") / FOLDER
    findings = [
        read_finding(path.name.removesuffix(".toml"), path.read_bytes())
        for path in folder.iterdir()
        if path.name.endswith(".toml")
    ]
    return tuple(sorted(findings, key=lambda finding: (finding.driver, finding.id)))


class CompilerError(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An error of a front end, in a file of ``compilers``."""

    title: str
    compiler: str
    seen: tuple[str, ...]
    source: str  # in shaders/findings/compilers
    document: str
    rule: str  # the violated sentence of the document
    description: str
    corrected: bool = False  # whether vkgroup corrects what the compiler makes
    reported: str = ""
    filter: tuple[str, ...] = ()  # the cases that fail on every device

    def as_known(self, name: str) -> KnownError:
        """Return what explains failures; `name` is the file's name without its end."""
        return KnownError(self.title, "", self.seen, self.description, id=name, filter=self.filter)


@cache
def compiler_errors() -> dict[str, CompilerError]:
    """Return the errors of front ends by the names of their files without the end, in their order."""
    folder = files("vkgroup") / FOLDER / "compilers"
    found = {path.name.removesuffix(".toml"): path.read_bytes() for path in folder.iterdir()}
    return {name: msgspec.toml.decode(found[name], type=CompilerError) for name in sorted(found)}


def findings_for(
    name: str, info: str, device: str = "", findings: Iterable[KnownError] | None = None
) -> list[KnownError]:
    """Return the known errors of a device, by ``driverName``, ``driverInfo`` and name, and of front ends."""
    driver = DriverVersion.of(name, info, device)
    own = (error.as_known(file) for file, error in compiler_errors().items() if error.filter)
    known = findings if findings is not None else (*all_findings(), *own)
    return [finding for finding in known if finding.driver == "" or finding.applies_to(driver)]
