"""Files in the formats of deqp-runner: the baseline of expected failures, and tables of outcomes."""

from __future__ import annotations

from pathlib import Path

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import write_output
from vkgroup.conformance.expectations import PLAIN, ExpectationOutcome, parse_line, read_baseline, read_text
from vkgroup.conformance.outcomes import RunOutcomes

_UNKNOWN = (ExpectationOutcome.MISSING, ExpectationOutcome.FLAKE, ExpectationOutcome.KNOWN_FLAKE)


def check_baseline(path: Path) -> None:
    """Raise InvalidInput if a baseline cannot be written, or would replace a file that is not a baseline."""
    if path.is_dir():
        raise InvalidInput(f"--save-baseline {path} is a folder; give the name of a file")
    if path.exists():
        read_baseline(path)


def save_baseline(path: Path, outcomes: RunOutcomes) -> None:
    """Write the failures of a run, as lines ``NAME,STATUS`` that deqp-runner reads too.

    An existing file is updated: it retains comments and the lines of cases without a verdict in this run
    (other shards, cases left out or not reached, flakes). Other lines get the new status, or are removed if
    the case no longer fails. Flakes are not added.
    """
    failing = _failing(outcomes)
    known = {
        name
        for name, outcome in outcomes.by_case.items()
        if outcome not in _UNKNOWN and name not in outcomes.left_out
    }
    lines, listed = [], set()
    if path.exists():
        for number, line in enumerate(read_text(path).removesuffix("\n").split("\n"), 1):
            text = line.strip()
            if text and not text.startswith("#"):
                name, status = parse_line(text, f"{path}:{number}")
                listed.add(name)
                if name in known and failing.get(name) != status:
                    if name not in failing:
                        continue
                    line = f"{name},{failing[name]}"
            lines.append(line)
    else:
        device = outcomes.run.capabilities
        lines.append(f"# {device.name}, {device.driver_name} {device.driver_info}".rstrip())
    lines += [f"{name},{status}" for name, status in sorted(failing.items()) if name not in listed]
    write_output(path, "\n".join(lines) + "\n")


def _failing(outcomes: RunOutcomes) -> dict[str, str]:
    """Return the status of every case that fails and is not a flake, in deqp-runner's words."""
    return {
        result.case: PLAIN[result.status].value
        for result in outcomes.results
        if not PLAIN[result.status].expected and outcomes.by_case[result.case] not in _UNKNOWN
    }


RESULTS, FAILURES = "results.csv", "failures.csv"


def write_tables(outcomes: RunOutcomes, folder: Path) -> None:
    """Write both files into a run's folder; InvalidInput if that fails.

    The last column is the id of the failure's cause; it is empty for other cases.
    """
    causes = {name: cause.id for name, cause in outcomes.cause_of.items()}
    seconds = {result.case: result.seconds for result in outcomes.results}
    results = (
        f"{name},{outcome},{seconds.get(name, 0.0):.6f},{causes.get(name, '')}\n"
        for name, outcome in outcomes.by_case.items()
    )
    write_output(folder / RESULTS, results)
    failures = (f"{name},{outcome},{causes.get(name, '')}\n" for name, outcome in outcomes.unexpected.items())
    write_output(folder / FAILURES, failures)
