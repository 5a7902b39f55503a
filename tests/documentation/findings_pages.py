"""Writes the pages of known driver errors: ``python tests/documentation/findings_pages.py``.

docs/driver-findings.md and docs/findings/*.md are made from vkgroup/findings/*.toml.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vkgroup.results.causes.findings import Finding, all_findings
from vkgroup.spec.strength import STRENGTHS

DOCS = Path(__file__).parents[2] / "docs"
INDEX = DOCS / "driver-findings.md"


@dataclass(frozen=True)
class Driver:
    """A driver with a page."""

    driver: str  # the beginning of its name, as in the files
    page: str  # the page's name
    name: str  # as in headings
    where: str  # which builds were tested


DRIVERS = (
    Driver(
        "SwiftShader",
        "swiftshader",
        "SwiftShader",
        "SwiftShader 156.0, as Debian's Chromium package contains it.",
    ),
    Driver(
        "llvmpipe",
        "lavapipe",
        "lavapipe",
        "lavapipe 22.3.6 and 25.0.7 (Mesa, LLVM 15.0.6), as Debian packages them. Findings with another "
        "version of LLVM say so.",
    ),
    Driver("NVIDIA", "nvidia", "NVIDIA's driver", "NVIDIA 580.159.04 on an H200."),
)

_INTRODUCTION = """\
# Driver findings

vkgroup found {errors} errors in SwiftShader, lavapipe and NVIDIA's driver. Each was traced to the driver.
They were found by the conformance suite, by random programs, or by comparison with the reference device.

{table}

The pages are made from `vkgroup/findings/*.toml` (`python tests/documentation/findings_pages.py`). A run
marks the failures of a driver that are in these files as known; all others are new. Each finding names the
sentence that it violates, and its strength ([rules](conformance/rules.md)):

{strengths}

The shaders are in `shaders/findings/`. Each writes 1 where the result is wrong, unless its first lines say
something else. If a shader has other bindings, its first lines contain the command. Otherwise run it with:

    vkgroup run shaders/findings/NAME.comp --device D --groups 1 --out result=uint32[64]:result.npy

Khronos' suite showed no failure where it was run on these drivers: all its subgroup cases on the H200, the
compute cases on SwiftShader, samples on lavapipe.
"""


def findings_of(driver: Driver) -> list[Finding]:
    """Return the findings in a driver: those in all its versions first, then by version."""
    found = [finding for finding in all_findings() if finding.driver == driver.driver]
    return sorted(found, key=lambda finding: (-len(finding.seen), finding.seen, finding.id))


def pages() -> dict[Path, str]:
    """Return the text of every page by its path."""
    texts = {DOCS / "findings" / f"{driver.page}.md": _page(driver) for driver in DRIVERS}
    return {INDEX: _index(), **texts}


def _index() -> str:
    lines = ["| driver | versions | errors | page |", "|---|---|---|---|"]
    for driver in DRIVERS:
        found = findings_of(driver)
        versions = sorted({version for finding in found for version in finding.seen})
        errors = sum(finding.error for finding in found)
        allowed = len(found) - errors
        more = f" and {allowed} that is allowed" if allowed else ""
        link = f"[{driver.name}](findings/{driver.page}.md)"
        lines.append(f"| {driver.name} | {', '.join(versions)} | {errors}{more} | {link} |")
    strengths = "\n".join(f"- {name}: {sentence}." for name, sentence in STRENGTHS.items())
    errors = sum(finding.error for finding in all_findings())
    return _INTRODUCTION.format(errors=errors, table="\n".join(lines), strengths=strengths)


def _page(driver: Driver) -> str:
    found = findings_of(driver)
    parts = [f"# Findings in {driver.name}", f"{driver.where} [All drivers](../driver-findings.md)."]
    several = len({finding.seen for finding in found}) > 1
    heading: Sequence[str] = ()
    for finding in found:
        if several and finding.seen != heading:
            heading = finding.seen
            parts.append(f"## {driver.name} {' and '.join(heading)}")
        parts.append(f"{'###' if several else '##'} {finding.title}")
        if finding.fixed:
            parts.append(f"Seen in {', '.join(finding.seen)}; {finding.fixed} is right.")
        parts.append(finding.description.strip())
        if finding.rule is not None:
            rule = finding.rule
            parts.append(f"Rule ({STRENGTHS[rule.strength]}): {rule.document}: “{_markdown(rule.quote)}”")
        if finding.hangs:
            parts.append("The cases may hang the GPU, so they do not run unless `--allow-hangs` is given.")
        if finding.reported:
            parts.append(f"Reported: {finding.reported}")
    return "\n\n".join(parts) + "\n"


def _markdown(quote: str) -> str:
    return quote.replace("<", "&lt;").replace("*", "\\*")


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
