"""Writing a baseline: what a run found to fail, as what is expected of the next."""

from __future__ import annotations

from pathlib import Path

from vkgroup.conformance.expectations import PLAIN, Outcome, parse_line, read_baseline, read_text
from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.errors import InvalidInput
from vkgroup.files import write_output

_UNKNOWN = (Outcome.MISSING, Outcome.FLAKE, Outcome.KNOWN_FLAKE)


def check_baseline(path: Path) -> None:
    """Raise InvalidInput where a baseline could not be written, or would replace a file that is none."""
    if path.is_dir():
        raise InvalidInput(f"--save-baseline {path} is a folder: name a file")
    if path.exists():
        read_baseline(path)


def save_baseline(path: Path, judged: RunOutcomes) -> None:
    """Write the failures of a run, as lines ``NAME,STATUS`` that deqp-runner reads too.

    Where the file exists it is brought up to date: its comments stay, and so do the lines of cases that this
    run has no verdict on (others' shards, what was left out or not reached, flakes); the other lines get the
    status that was found, or go where nothing fails any more. Flakes are not added.

    Raises
    ------
    InvalidInput
        The file cannot be written, or is no baseline.
    """
    failing = _failing(judged)
    known = {
        name
        for name, outcome in judged.outcomes.items()
        if outcome not in _UNKNOWN and name not in judged.left_out
    }
    lines, kept = [], set()
    if path.exists():
        for number, line in enumerate(read_text(path).removesuffix("\n").split("\n"), 1):
            text = line.strip()
            if text and not text.startswith("#"):
                name, status = parse_line(text, f"{path}:{number}")
                kept.add(name)
                if name in known and failing.get(name) != status:
                    if name not in failing:
                        continue
                    line = f"{name},{failing[name]}"
            lines.append(line)
    else:
        found = judged.run.capabilities
        lines.append(f"# {found.name}, {found.driver_name} {found.driver_info}".rstrip())
    lines += [f"{name},{status}" for name, status in sorted(failing.items()) if name not in kept]
    write_output(path, "\n".join(lines) + "\n")


def _failing(judged: RunOutcomes) -> dict[str, str]:
    """Return the status of every case that fails, and not only at times."""
    return {
        result.case: result.status.value
        for result in judged.results
        if not PLAIN[result.status].expected and judged.outcomes[result.case] not in _UNKNOWN
    }
