"""The files of a run's folder, also for a run from a database; `vkgroup.outputs.history.load` reads them."""

from __future__ import annotations

import json
from pathlib import Path

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import write_output, write_whole
from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.outputs.history.files import RESULTS, RUN
from vkgroup.record.record import RunRecord, format_result
from vkgroup.record.run import Run


def export(run: RunRecord, folder: Path, overwrite: bool = False) -> list[Path]:
    """Write a run into a folder: ``results.jsonl``, ``run.json``, and each document as ``NAME.json``.

    Raises InvalidInput: a file exists, and `overwrite` is false.
    """
    names = [f"{name}.json" for name in run.documents]
    if run.results is not None:
        names = [RESULTS, RUN, *names]
    existing = [name for name in names if (folder / name).exists()]
    if existing and not overwrite:
        raise InvalidInput(f"{folder} already has {existing[0]}: use a different folder, or --overwrite")
    identity = {
        "device": run.info.device,
        "driver": run.info.driver,
        "seed": run.info.seed,
        "vkgroup": run.info.vkgroup,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if run.results is not None:
            write_whole(folder / RUN, json.dumps(identity, indent=2) + "\n")
            write_whole(folder / RESULTS, map(format_result, run.results))
        for name, data in run.documents.items():
            write_whole(folder / f"{name}.json", json.dumps(data, indent=2) + "\n")
    except OSError as error:
        raise InvalidInput(f"cannot write into {folder}: {error.strerror}") from error
    return [folder / name for name in names]


def write_summary(run: Run, path: Path, outcomes: RunOutcomes | None = None) -> None:
    """Write the summary of a run, with the number of cases with each outcome; see `Run.summarize`."""
    counts = None if outcomes is None else {kind.value: count for kind, count in outcomes.counts.items()}
    write_output(path, json.dumps(run.summarize(counts), indent=2, ensure_ascii=False) + "\n")


def write_capabilities(run: Run, path: Path) -> None:
    """Write the device's capabilities, as ``vkgroup probe --json`` does: reports compare them."""
    write_output(path, json.dumps(run.documents["capabilities"], indent=1, ensure_ascii=False) + "\n")
