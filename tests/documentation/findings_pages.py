"""Writes the pages of known errors in docs/results: ``python tests/documentation/findings_pages.py``.

The sources are vkgroup/findings and bench/results/compilers.json. `table` and `strengths` are parts of
index.md (included.py).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vkgroup.record.causes.findings import KnownError, all_findings, compiler_errors
from vkgroup.spec.sentences import STRENGTHS

_ROOT = Path(__file__).parents[2]
DOCS = _ROOT / "docs" / "results"
COMPILER_RUNS = _ROOT / "bench" / "results" / "compilers.json"


@dataclass(frozen=True)
class Driver:
    """A driver with a page."""

    driver: str  # the beginning of its name, as in the files
    page: str  # the page's name
    name: str  # as in headings
    where: str = ""  # which builds were tested; drivers of one page have it in its introduction


MESA = "mesa-compilers"
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
        "Mesa 22.3.6, 25.0.7 (LLVM 15.0.6) and 26.1.6 (LLVM 19.1.7), as Debian packages them. "
        "Findings of 25.0.7 with another version of LLVM say so.",
    ),
    Driver("NVIDIA", "nvidia", "NVIDIA's driver", "NVIDIA 580.159.04 on an H200."),
    Driver("radv", MESA, "RADV"),
    Driver("NVK", MESA, "NVK"),
    Driver("turnip", MESA, "Turnip"),
    Driver("Honeykrisp", MESA, "Honeykrisp"),
)
_MESA = """\
# Findings in Mesa's compilers

RADV, NVK, Turnip and Honeykrisp of Mesa 26.1.6 (Debian 13) compiled shaders for GPUs that were not present
([compile-only devices](../start/compile-only.md)). RADV's compute shaders were executed by emulation.
[All drivers](index.md#drivers)."""


def findings_of(driver: Driver) -> list[KnownError]:
    """Return the findings in a driver: those in all its versions first, then by version."""
    found = [finding for finding in all_findings() if finding.driver == driver.driver]
    return sorted(found, key=lambda finding: (-len(finding.seen), finding.seen, finding.id))


def pages() -> dict[Path, str]:
    """Return the text of every page by its path."""
    texts = {driver.page: _page(driver) for driver in DRIVERS if driver.page != MESA}
    texts[MESA] = (
        "\n\n".join([_MESA, *(_section(driver) for driver in DRIVERS if driver.page == MESA)]) + "\n"
    )
    texts["compilers"] = _compilers()
    return {DOCS / f"{name}.md": text for name, text in texts.items()}


def table() -> str:
    """Return the table of drivers."""
    lines = ["| driver | versions | errors | page |", "|---|---|---|---|"]
    for driver in DRIVERS:
        found = findings_of(driver)
        versions = sorted({version for finding in found for version in finding.seen})
        errors = sum(finding.error for finding in found)
        allowed = len(found) - errors
        more = f" and {allowed} that is allowed" if allowed else ""
        place = f"{MESA}.md#{driver.name.lower()}" if driver.page == MESA else f"{driver.page}.md"
        lines.append(f"| {driver.name} | {', '.join(versions)} | {errors}{more} | [{driver.name}]({place}) |")
    lines.append(f"| all | | {sum(finding.error for finding in all_findings())} | |")
    return "\n".join(lines)


def strengths() -> str:
    """Return the list of the strengths of rules."""
    return "\n".join(f"- {name}: {sentence}." for name, sentence in STRENGTHS.items())


def _page(driver: Driver) -> str:
    """Return the page of one driver, with a heading for each set of versions."""
    found = findings_of(driver)
    parts = [f"# Findings in {driver.name}", f"{driver.where} [All drivers](index.md#drivers)."]
    several = len({finding.seen for finding in found}) > 1
    heading: Sequence[str] = ()
    for finding in found:
        if several and finding.seen != heading:
            heading = finding.seen
            parts.append(f"## {driver.name} {' and '.join(heading)}")
        parts += _finding(finding, "###" if several else "##")
    return "\n\n".join(parts) + "\n"


def _section(driver: Driver) -> str:
    """Return the part of a driver that shares its page."""
    parts = [f"## {driver.name}"]
    for finding in findings_of(driver):
        parts += _finding(finding, "###")
    return "\n\n".join(parts)


def _finding(finding: KnownError, level: str) -> list[str]:
    """Return the paragraphs of one finding."""
    parts = [f"{level} {finding.title}"]
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
    return parts


def _markdown(quote: str) -> str:
    return quote.replace("<", "&lt;").replace("*", "\\*")


_COMPILERS = """\
# Findings in compilers

`vkgroup conform --device reference --compiler NAME` compiles the suite with one front end and executes it
on the reference device. No driver is involved, so a wrong result is an error of the front end or of
vkgroup. The compilers are `glslang` (the current one), `glslang-13`, `shaderc`, `slang` and `dxc`. Slang
and DXC compile the cases of the HLSL family.

The table counts the executed cases of {date} ({shards}; `python bench/compiler_conformance.py` repeats it).
GLSL cases are "not supported" for stages that the reference device lacks. HLSL cases are "not supported" if
the compiler rejects the shader: DXC has `WaveActiveBitAnd`, `BitOr` and `BitXor` for unsigned integers
only, and Slang has the errors below. shaderc 2023.2 with glslang 11.13 lacks the extensions of later years.

{table}

Families that are run only if asked for, on the reference device with subgroups of 32 (29 November 2026):

| family | cases | DXC 1.8 | Slang 2026.12 | tint 20260909 |
|---|---|---|---|---|
| `hlsl_later`: WaveMatch, WaveMultiPrefix…, quad votes | 2,100 | 160: WaveMatch alone | 2,100 | – |
| `hlsl_fragment`: IsHelperLane, WaveOpsIncludeHelperLanes | 16 | 16 | 12, 4 not supported | – |
| `hlsl_reconvergence`: waterfall loops and random programs in HLSL | 84 | 84 | 81, 3 invalid modules | – |
| `slang_reconvergence`: the same in Slang | 84 | – | 82, 2 invalid modules | – |
| `slang`: the wave functions that only Slang has | 12,010 | – | 10,742, **108 wrong**, 1,160 others | – |
| `wgsl`: functions and built-in values of subgroups | 8,416 | – | – | 7,568, 848 undefined |

The wrong results of DXC in `hlsl` have one cause, helper lanes; those of Slang are `WaveMaskPrefixBitXor`.
Of the others of `slang` 1,140 are undefined and 20 become invalid modules.
Slang also reads GLSL; vkgroup does not use that mode.
"""


def _counts(runs: list[dict[str, Any]]) -> list[str]:
    """Return a table with one row for each family and one column for each run."""
    names = sorted({name for run in runs for name in run["by_category"]})
    heads = [f"{run['version'].split(' (')[0]}, {run['language']}" for run in runs]
    lines = [f"| family | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    for name in names:
        cells = [_cell(run["by_category"].get(name)) for run in runs]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _cell(counts: dict[str, int] | None) -> str:
    """Return the text of one cell: executed cases, wrong ones, and those that are not supported."""
    if counts is None:
        return "–"
    failed = counts["Fail"] + counts["Crash"] + counts["Timeout"]
    executed = counts["Pass"] + counts["Undefined"] + failed
    parts = [f"{executed:,}"]
    parts += [f"**{failed:,} wrong**"] if failed else []
    parts += [f"{counts['NotSupported']:,} not supported"] if counts["NotSupported"] else []
    return ", ".join(parts)


def _compilers() -> str:
    document = json.loads(COMPILER_RUNS.read_text())
    shards = sorted({f"{run['language']}: shard {run['shard']}" for run in document["runs"]})
    parts = [
        _COMPILERS.format(
            date=document["date"], shards=", ".join(shards), table="\n".join(_counts(document["runs"]))
        ).strip()
    ]
    for finding in compiler_errors().values():
        parts.append(f"## {finding.title}")
        state = "; vkgroup corrects it" if finding.corrected else ""
        parts.append(f"Seen in {', '.join(finding.seen)}{state}. Source: `{finding.source}`")
        parts.append(finding.description.strip())
        parts.append(f"Rule: {finding.rule} ({finding.document})")
        if finding.reported:
            parts.append(f"Known: {finding.reported}")
    parts.append("The sources are in `shaders/findings/compilers/`; their first lines contain the command.")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
