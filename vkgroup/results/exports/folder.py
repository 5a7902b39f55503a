"""A recorded run as the files that its command writes, which `vkgroup.results.history.load` reads."""

from __future__ import annotations

import json
from pathlib import Path

from vkgroup.errors import InvalidInput
from vkgroup.files import write_whole
from vkgroup.results.history.files import RESULTS, RUN
from vkgroup.results.record import RunRecord


def export(run: RunRecord, folder: Path) -> list[Path]:
    """Write a run into a folder: ``results.jsonl``, ``run.json``, and each document as ``NAME.json``.

    Parameters
    ----------
    folder : made if it does not exist.

    Returns
    -------
    The files, each whole or not there.

    Raises
    ------
    InvalidInput
        One of the files is there already, or cannot be written.
    """
    names = [f"{name}.json" for name in run.documents]
    if run.results is not None:
        names = [RESULTS, RUN, *names]
    there = [name for name in names if (folder / name).exists()]
    if there:
        raise InvalidInput(f"{folder} has {there[0]} already: name another folder")
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
            lines = [json.dumps(result.to_json(), ensure_ascii=False) + "\n" for result in run.results]
            write_whole(folder / RESULTS, "".join(lines))
        for name, data in run.documents.items():
            write_whole(folder / f"{name}.json", json.dumps(data, indent=2) + "\n")
    except OSError as error:
        raise InvalidInput(f"cannot write into {folder}: {error.strerror}") from error
    return [folder / name for name in names]
