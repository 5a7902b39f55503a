"""The end of ``vkgroup conform``: causes of failures, cases that did not run, exit code, report, summary."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from vkgroup.base.files import write_output
from vkgroup.cli.console import Console
from vkgroup.conformance.execute import NOT_COMPILED
from vkgroup.conformance.expectations import ExpectationOutcome
from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.conformance.plan import ALLOW
from vkgroup.device import DeviceInfo
from vkgroup.record.causes import Cause
from vkgroup.record.causes.findings import compiler_errors
from vkgroup.record.causes.text import rule_text, truncated, without_rule
from vkgroup.record.record import UNEXECUTED, Status
from vkgroup.record.run import NotRun, Run

_BETWEEN = re.compile(r", (?![^(]*\))")
"""What separates the features in the detail of a case; the values of limits are in parentheses."""

CAUSES_SHOWN = 10
"""Causes of each kind that are printed; all are in summary.json."""

REPORT = "report.html"
"""The report's file in the run's folder."""

BATCHES = "failed-batches"
"""The folder in the run's folder with the cases of failed batches, a file for each."""

CASES_SHOWN = 20
"""Names of cases that did not run for one reason that are printed; all are in summary.json."""


def print_causes(causes: Sequence[Cause], out: Path, console: Console) -> None:
    """Print new causes with the lanes of their smallest case, then known ones with its repeat command."""
    new = [cause for cause in causes if not cause.known]
    known = [cause for cause in causes if cause.known]
    if new:
        console.write_line(f"{_count(new, 'new cause')} of failures:", style="bold red")
        for number, cause in enumerate(new[:CAUSES_SHOWN], 1):
            _print_new(number, cause, console)
        _print_more(new, out, console)
    if known:
        console.write_line(f"{_count(known, 'known cause')} of failures:", style="bold yellow")
        for number, cause in enumerate(known[:CAUSES_SHOWN], len(new) + 1):
            _print_known(number, cause, console)
        _print_more(known, out, console)


def _print_new(number: int, cause: Cause, console: Console) -> None:
    console.write_line(f"{number}. {cause.title}", style="bold")
    _print_parts(cause, console)
    for line in truncated(without_rule(cause.detail)):
        console.write_line(f"     {line}")


def _print_known(number: int, cause: Cause, console: Console) -> None:
    finding = cause.finding
    assert finding is not None
    console.write_line(f"{number}. {cause.title} (known since {finding.driver} {finding.since})")
    _print_parts(cause, console)
    for line in cause.detail.splitlines():
        if line.startswith("repeat:"):
            console.write_line(f"     {line}")


def _print_parts(cause: Cause, console: Console) -> None:
    """Print cases, explanation and rule of a cause, and the name of its smallest case."""
    console.write_line(f"   Cases: {cause.sentence}")
    if cause.explanation is not None or cause.common:
        console.write_line(f"   Explanation: {cause.explained}")
    if cause.rule:
        console.write_line(f"   {rule_text(cause.rule)}")
    console.write_line(f"   Smallest case: {cause.smallest}")


def _print_more(causes: Sequence[Cause], out: Path, console: Console) -> None:
    if len(causes) > CAUSES_SHOWN:
        more = len(causes) - CAUSES_SHOWN
        console.write_line(f'   … and {more} more in {out / "summary.json"}, key "causes"')


def _count(causes: Sequence[Cause], noun: str) -> str:
    return f"{len(causes)} {noun}{'s' * (len(causes) != 1)}"


def print_not_run(reasons: Sequence[NotRun], out: Path, console: Console) -> None:
    """Print the cases that did not run because they may hang the device, by reason."""
    if not reasons:
        return
    total = sum(len(held.cases) for held in reasons)
    console.write_line(
        f"Not run: {number_of(total)} that may hang the device ({ALLOW} runs them):", style="yellow"
    )
    for held in reasons:
        origin = f" (finding {held.finding})" if held.finding else ""
        console.write_line(f"  {number_of(len(held.cases))}: {held.reason}{origin}")
        for case in sorted(held.cases)[:CASES_SHOWN]:
            console.write_line(f"    {case}")
        if len(held.cases) > CASES_SHOWN:
            more = len(held.cases) - CASES_SHOWN
            console.write_line(f'    … and {more:,} more in {out / "summary.json"}, key "not_run"')


def write_failed_batches(found: Run, out: Path) -> None:
    """Write the cases of each failed batch into a file of its own, a caselist; see `FailedBatch`."""
    for number, batch in enumerate(found.summary["failed_batches"], 1):
        write_output(out / BATCHES / f"{number}.txt", "".join(f"{case}\n" for case in batch["cases"]))


def print_failed_batches(found: Run, device: DeviceInfo, out: Path, console: Console) -> None:
    """Print the number of failed batches for each message, and a command that repeats one of them."""
    batches = found.summary["failed_batches"]
    if not batches:
        return
    subject = "One batch of cases" if len(batches) == 1 else f"{len(batches):,} batches of cases"
    console.write_line(
        f"{subject} made the driver crash or hang, but smaller batches with the same cases did not:",
        style="yellow",
    )
    messages = Counter(batch["message"] for batch in batches)
    for message, count in messages.most_common(CASES_SHOWN):
        number, batch = next((n, b) for n, b in enumerate(batches, 1) if b["message"] == message)
        console.write_line(f"  {count:,}: {message}, for example {number_of(len(batch['cases']))}:")
        options = f"--device {quote(device.choice)} --seed {found.seed}"
        options += f" --caselist {quote(str(out / BATCHES / f'{number}.txt'))}"
        console.write_line(f"    repeat: vkgroup conform {options}")


def finish(outcomes: RunOutcomes, arguments: argparse.Namespace, out: Path, console: Console) -> int:
    """Write the HTML report and print the summary, if the options request them; return the exit code."""
    report: Path | None = arguments.report
    if report is not None:
        # Imported here, because the report needs packages that other runs do not.
        from vkgroup.outputs.report import read, write_html

        report = out / REPORT if report == Path() else report
        write_html(read([out]), report)
    code = 0
    reason = _why_empty(outcomes.run) or _why_none_is_left(outcomes.run, arguments)
    if reason:
        console.write_line(f"No case was executed: {reason}.", style="bold yellow")
        # A shard is chosen by numbers of cases, so it may have only cases that the device does not support.
        if arguments.shard is not None:
            console.write_line("This says nothing about the other shards.")
        elif not arguments.allow_empty:
            console.write_line("Nothing was tested. --allow-empty makes this a success.")
            code = 3
    if not arguments.known:
        if report is not None:
            console.write_line(f"Report: {report}")
        return code if outcomes.success else 1
    unknown = _without_known_cause(outcomes)
    missing = sum(outcome == ExpectationOutcome.MISSING for outcome in outcomes.unexpected.values())
    uncompiled = sum(NOT_COMPILED in result.detail for result in outcomes.run.results)
    _print_summary(
        outcomes.run, len(unknown), missing, report, console, empty=bool(reason), uncompiled=uncompiled
    )
    return 1 if unknown or missing else code


def _why_empty(run: Run) -> str:
    """Return why no case of a run was executed, with the features that they need; empty if one was."""
    executed = any(result.status not in UNEXECUTED for result in run.results)
    if executed or run.missing or run.without_verdict or not len(run.results):
        return ""
    lacking = Counter(result.detail for result in run.results if result.status is Status.NOT_EMULATED)
    if lacking:
        shown = lacking.most_common(CASES_SHOWN)
        return "; ".join(f"{text.rstrip('.')} ({number_of(count)})" for text, count in shown)
    uncompiled = Counter(result.detail for result in run.results if NOT_COMPILED in result.detail)
    if uncompiled.total() == len(run.results):
        shown = uncompiled.most_common(CASES_SHOWN)
        return "; ".join(f"{text} ({number_of(count)})" for text, count in shown)
    needs = [set(_BETWEEN.split(result.detail.removeprefix("needs "))) for result in run.results]
    common = set.intersection(*needs)
    if common:
        return f"all {number_of(len(needs))} need {', '.join(sorted(common))}, which the device lacks"
    counts = Counter(name for needed in needs for name in needed)
    listed = "; ".join(f"{name} ({number_of(count)})" for name, count in counts.most_common(CASES_SHOWN))
    return f"each of {number_of(len(needs))} needs something that the device lacks: {listed}"


def _why_none_is_left(run: Run, arguments: argparse.Namespace) -> str:
    """Return why a run has no case at all; empty if it has one."""
    if run.results or run.missing or run.without_verdict:
        return ""
    held = sum(len(reason.cases) for reason in run.not_run)
    reasons = [
        *["this part of the cases is empty"] * (arguments.shard is not None),
        *["--skips leaves them out"] * bool(arguments.skips),
        *[f"{number_of(held)} may hang the device ({ALLOW} runs them)"] * bool(held),
    ]
    return "; ".join(reasons) or "there is none"


def _without_known_cause(outcomes: RunOutcomes) -> list[str]:
    """Return the cases with an unexpected outcome that no known error of the driver explains."""
    known = {case for cause in outcomes.run.causes if cause.known for case in cause.cases}
    return [
        case
        for case, outcome in outcomes.unexpected.items()
        if outcome.improved or (case not in known and outcome != ExpectationOutcome.MISSING)
    ]


def _done(totals: Mapping[str, int]) -> str:
    """Return what was done with the cases of a run."""
    left = totals.get("NotEmulated", 0)
    count = number_of(sum(totals.values()) - totals["NotSupported"] - left)
    if "Compiled" in totals:
        return f"{count} given to the compiler, {totals['Compiled']:,} compiled, none executed"
    return f"{count} executed, {totals['Pass']:,} passed" + (f"; {left:,} not emulated" if left else "")


def _print_summary(
    run: Run,
    unknown: int,
    missing: int,
    report: Path | None,
    console: Console,
    *,
    empty: bool,
    uncompiled: int = 0,
) -> None:
    """Print what was tested, the known errors, and where the report is.

    `uncompiled`: how many of the cases that are not supported a compiler rejected.
    """
    summary = run.summary
    totals = summary["totals"]
    driver = " ".join(filter(None, (summary["driver"]["name"], summary["driver"]["info"])))
    console.write_line("")
    console.write_line(
        f"Tested: {summary['device']}, {driver}, Vulkan {summary['api_version']}", style="bold"
    )
    lacking = f"{totals['NotSupported'] - uncompiled:,} need features that the device lacks"
    if uncompiled:
        lacking += f"; {uncompiled:,} were not compiled"
    console.write_line(f"  {_done(totals)}; {lacking}")
    causes = [cause for cause in summary["causes"] if cause["known"]]
    compilers = compiler_errors().keys()
    of_compilers = [cause for cause in causes if cause["id"] in compilers]
    of_driver = [cause for cause in causes if cause["id"] not in compilers]
    for what, page, known in (
        ("this driver", "docs/results/index.md", of_driver),
        ("a compiler", "docs/results/compilers.md", of_compilers),
    ):
        if known:
            console.write_line(f"Known errors of {what}: {len(known)} ({page})", style="bold")
        width = max((len(f"{cause['count']:,}") for cause in known), default=0)
        for cause in known:
            noun = "case " if cause["count"] == 1 else "cases"
            console.write_line(f"  {cause['count']:>{width},} {noun}  {cause['title']}")
    if not causes and not unknown and not missing and not empty:
        console.write_line("No errors were found in this driver.")
    if unknown:
        text = f"Unexpected results without a known cause: {number_of(unknown)} (described above)"
        console.write_line(text, style="bold red")
    elif causes and not missing:
        console.write_line("No other errors were found.")
    if missing:
        text = f"No result: {number_of(missing)} (not reached, or not judged because of an error of vkgroup)"
        console.write_line(text, style="bold red")
    if report is not None:
        console.write_line(f"Report, to be opened in a browser: {report}", style="bold")


def number_of(count: int) -> str:
    """Return a number of cases as text."""
    return "1 case" if count == 1 else f"{count:,} cases"
