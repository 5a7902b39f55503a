"""Worker of executing fuzzing: makes mutated modules by their numbers, and runs them; one JSON line each.

``python execution_worker.py '{"seed": 0, "start": 0, "stop": 100, …}'``; see `Task`.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import random
import resource
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from execution_corpus import TARGET, Base, corpus
from execution_mutations import mutated
from execution_trial import AGREED, EXECUTED, NOT_RUN, UNDEFINED, Outcome, Trial

from vkgroup.base.errors import InvalidModule
from vkgroup.base.files import write_whole
from vkgroup.compiler import validate
from vkgroup.device import DeviceInfo
from vkgroup.dispatch import Device
from vkgroup.spirv import Module
from vkgroup.workers.isolation import IsolatedDevice
from vkgroup.workers.opening import select

TRIES = 20
"""Mutations that are tried until the validator accepts one."""

HANG_SHARE = 0.05
"""Share of the modules with a hang on the reference device that drivers execute, too: each costs seconds."""

REOPEN = 1000
"""Modules after which the drivers' processes are started anew, because they keep memory of each pipeline."""

_MEMORY = 6 << 30
_UNREMARKABLE = (AGREED, EXECUTED, NOT_RUN, UNDEFINED, "refused: Unsupported")


@dataclass(frozen=True)
class Task:
    """What a worker does.

    `corpus`: file with the modules to mutate, which is made if it is missing.
    `opener`: ``"module:function"`` that opens a device in its process, as
    `vkgroup.workers.opening.open_device` does.
    """

    seed: int
    start: int
    stop: int
    drivers: tuple[str, ...]
    corpus: str
    seconds: float
    opener: str = "vkgroup.workers.opening:open_device"


@dataclass(frozen=True)
class Mutated:
    """A mutated module that is valid; `rejected` counts the kinds of the attempts that were not."""

    base: Base
    kind: str
    module: Module
    rejected: Mapping[str, int]


def module_of(bases: list[Base], seed: int, number: int) -> Mutated | None:
    """Return the module of a seed and a number; None if no attempt was valid."""
    rng = random.Random(f"{seed} {number}")
    # Small modules are executed more often: their time is mostly that of compilers.
    base = rng.choices(bases, [len(base.module.words) ** -2 for base in bases])[0]
    rejected = Counter[str]()
    for _ in range(TRIES):
        changed = mutated(base.module, rng)
        if changed is None:
            continue
        kind, module = changed
        try:
            validate(module, TARGET)
        except InvalidModule:
            rejected[kind] += 1
        else:
            return Mutated(base, kind, module, rejected)
    return None


def load_corpus(file: Path) -> list[Base]:
    """Return the modules of a file, which is made if it is missing."""
    if not file.exists():
        made = file.with_suffix(f".{os.getpid()}")
        made.write_bytes(pickle.dumps(corpus()))
        made.replace(file)
    bases: list[Base] = pickle.loads(file.read_bytes())
    return bases


def work(task: Task, say: Callable[[Mapping[str, Any]], None]) -> None:
    """Run the modules of a task."""
    bases = load_corpus(Path(task.corpus))
    trial = Trial(_opened(task), task.seconds)
    say({"ready": len(bases)})
    for done, number in enumerate(range(task.start, task.stop), 1):
        say(_report_of(trial, bases, task.seed, number))
        if done % REOPEN == 0:
            _close_all(trial.devices)
            trial = Trial(_opened(task), task.seconds)
    _close_all(trial.devices)


def _info_of(name: str, folder: Path) -> DeviceInfo:
    """Return a device's information from a file of the campaign, which is made if it is missing.

    A busy machine takes longer to load a driver than `select` waits.
    """
    file = folder / f"{name}.json"
    if not file.exists():
        selected = select(name)
        # The folder of the cache is the campaign's own; the drivers in it are links.
        selected = replace(selected, manifest=str(Path(selected.manifest).resolve()))
        write_whole(file, json.dumps(asdict(selected)))
    return DeviceInfo.from_json(json.loads(file.read_text()))


def _opened(task: Task) -> dict[str, Device]:
    name, _, function = task.opener.partition(":")
    opener: Callable[..., Device] = getattr(import_module(name), function)
    infos = {driver: _info_of(driver, Path(task.corpus).parent) for driver in task.drivers}
    return {driver: IsolatedDevice(info, opener, {}) for driver, info in infos.items()}


def _report_of(trial: Trial, bases: list[Base], seed: int, number: int) -> dict[str, Any]:
    made = module_of(bases, seed, number)
    if made is None:
        return {"number": number, "kind": "none"}
    hangs = random.Random(f"hang {seed} {number}").random() < HANG_SHARE
    outcomes = trial.run(made.base, made.module, hangs=hangs)
    return {
        "number": number,
        "base": made.base.name,
        "kind": made.kind,
        "rejected": made.rejected,
        "slowest": round(max(outcome.seconds for outcome in outcomes.values()), 3),
        "outcomes": {name: [outcome.kind, outcome.detail] for name, outcome in outcomes.items()},
        "module": _text(made.module) if any(map(_is_remarkable, outcomes.values())) else "",
    }


def _is_remarkable(outcome: Outcome) -> bool:
    return not outcome.kind.startswith(_UNREMARKABLE)


def _text(module: Module) -> str:
    return base64.b64encode(module.to_bytes()).decode()


def _close_all(devices: Mapping[str, Device]) -> None:
    for device in devices.values():
        device.close()


def main() -> None:
    """Do the task of the command line."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    given = json.loads(sys.argv[1])
    work(
        Task(**{**given, "drivers": tuple(given["drivers"])}),
        lambda report: print(json.dumps(report), file=answers, flush=True),
    )


if __name__ == "__main__":
    main()
