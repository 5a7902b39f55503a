"""The files that ``vkgroup check`` writes about its results, and the allowances that no result needs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import writing
from vkgroup.check.allowances import read_baseline, save_baseline, unused_in
from vkgroup.check.findings import Allowance
from vkgroup.check.outcome import ConfigurationOutcome, OutcomeKind, worst
from vkgroup.cli import output
from vkgroup.cli.console import Console
from vkgroup.cli.settings import Settings
from vkgroup.configuration import read

_NARROWING = frozenset({"subgroup_size", "lanes", "full_subgroups"})
"""Options with which a check finds less, so that it cannot tell that an allowance is not needed."""


def require_files(arguments: argparse.Namespace) -> None:
    """Raise InvalidInput if a file of results cannot be written, or a baseline cannot be read or replaced.

    The results of an earlier check are removed, so that no program reads them if this check does not end.
    """
    names = ("json", "junit", "sarif", "save_baseline", "save_with", "trace")
    given = [path for path in (arguments.shader, arguments.with_file, *arguments.scripts) if path is not None]
    written = {f"--{name.replace('_', '-')}": getattr(arguments, name) for name in names}
    output.refuse_replacing(written, given, "the check reads")
    if arguments.baseline is not None:
        read_baseline(arguments.baseline)
    saved = arguments.save_baseline
    if saved is not None and saved.suffix != ".json":
        raise InvalidInput(f"--save-baseline {saved}: a baseline is JSON; give a name that ends in .json.")
    if saved is not None and saved.exists():
        read_baseline(saved)
    for file in filter(None, (arguments.json, arguments.junit, arguments.sarif)):
        if Path(file).is_file():
            with writing(Path(file)):
                Path(file).resolve().unlink()


def write_files(
    arguments: argparse.Namespace,
    checked: Sequence[tuple[Settings, ConfigurationOutcome]],
    console: Console,
    *,
    complete: bool = True,
) -> None:
    """Write the files of the options about checks, and print the allowances that none of them needs.

    `complete`: whether every configuration was checked.
    """
    reports = [outcome.report for _, outcome in checked if outcome.report is not None]
    baseline = () if arguments.baseline is None else read_baseline(arguments.baseline)
    complete = complete and len(reports) == len(checked) and not _NARROWING & arguments.given
    unused = _unused(arguments, checked, reports) if complete else {}
    for text in unused.values():
        console.write_line(f"not needed by this check: {text}", style="yellow")
    if arguments.save_baseline is not None:
        if arguments.baseline is None and arguments.save_baseline.exists():
            # What it has stays: without --baseline it is not known what of it is still needed.
            baseline, unused = read_baseline(arguments.save_baseline), {}
        count = save_baseline(arguments.save_baseline, reports, baseline, unused)
        console.write_line(f"Baseline: {arguments.save_baseline} ({count} line{'s' * (count != 1)})")
    if arguments.junit is not None or arguments.sarif is not None or arguments.annotations is not None:
        _export(arguments, checked)


def _export(arguments: argparse.Namespace, checked: Sequence[tuple[Settings, ConfigurationOutcome]]) -> None:
    # Imported here, because a check without these files starts faster.
    from vkgroup.outputs.exports.checks import ExportEntry, github, write_gitlab, write_junit
    from vkgroup.outputs.exports.sarif import write_sarif

    entries = [
        ExportEntry(settings.name or settings.options.shader.name, str(settings.options.shader), outcome)
        for settings, outcome in checked
    ]
    if arguments.junit is not None:
        write_junit(entries, arguments.junit)
    if arguments.sarif is not None:
        write_sarif(entries, arguments.sarif)
    if arguments.annotations == "gitlab":
        write_gitlab(entries, Path())
    elif arguments.annotations == "github":
        sys.stdout.flush()
        sys.stdout.write("".join(f"{line}\n" for line in github(entries)))


def _unused(
    arguments: argparse.Namespace,
    checked: Sequence[tuple[Settings, ConfigurationOutcome]],
    reports: Sequence[dict[str, Any]],
) -> dict[Allowance, str]:
    """Return the allowances that no check needs, with them in words, and none that others may need.

    Others are the configurations of the file that were not checked, and shaders outside of a checked folder.
    """
    file = arguments.with_file
    names = {settings.given.name for settings, _ in checked if settings.given is not None}
    others = [] if file is None else [entry for entry in read(file) if entry.name not in names]
    needed = {(line.kind, line.line, line.reason) for other in others for line in other.fields.allow}
    shaders = [settings.options.shader for settings, _ in checked]
    own = [str(shader) for shader in shaders if not any(other.has_shader(shader) for other in others)]
    whole = not others and arguments.shader is not None and arguments.shader.is_dir()

    def is_judged(entry: Allowance) -> bool:
        if entry.origin == str(file):
            return (entry.kind, entry.line, entry.reason) not in needed
        return whole or (bool(entry.file or not others) and any(map(entry.names, own)))

    return {entry: text for entry, text in unused_in(reports).items() if is_judged(entry)}


def code_of(outcomes: Sequence[ConfigurationOutcome], *, bisect: bool) -> int:
    """Return the exit code of several checks; for a bisection, one that did not look at all is undecided."""
    code = worst(outcome.exit_code for outcome in outcomes)
    in_part = any(outcome.kind == OutcomeKind.IN_PART for outcome in outcomes)
    return output.UNDECIDED if bisect and not code and in_part else code
