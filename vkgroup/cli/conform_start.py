"""Work that begins before ``vkgroup conform`` imports its modules, because a run of one case is short.

A worker process starts and imports what it needs, and the chosen driver is asked for its devices in a thread.
"""

from __future__ import annotations

import argparse
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from vkgroup.workers import spare

if TYPE_CHECKING:
    from vkgroup.device import DeviceInfo

_choices: dict[str | None, Future[DeviceInfo]] = {}


def compiles_only(arguments: argparse.Namespace) -> bool:
    """Return whether an absent GPU only compiles, although it could execute by emulation."""
    return bool(arguments.compile_only or arguments.statistics)


def begin(arguments: argparse.Namespace) -> None:
    """Begin the work for a run on one device; nothing for other runs and other uses of the command."""
    choice: str | None = arguments.device
    others = arguments.show, arguments.repro, arguments.cluster
    if arguments.list or any(option is not None for option in others):
        return
    spare.keep("vkgroup.conformance.run")
    if choice is not None and ("," in choice or choice.strip().lower() == "all"):
        return
    # Imported after the start of the worker, which runs at the same time.
    from vkgroup.workers import opening

    future: Future[DeviceInfo] = Future()

    def choose() -> None:
        try:
            future.set_result(opening.select(choice, compile_only=compiles_only(arguments)))
        except BaseException as error:
            future.set_exception(error)

    _choices[choice] = future
    threading.Thread(target=choose, daemon=True).start()


def device(arguments: argparse.Namespace) -> DeviceInfo:
    """Return the device that `vkgroup.workers.opening.select` chooses, and raise its errors."""
    if (future := _choices.pop(arguments.device, None)) is not None:
        return future.result()
    from vkgroup.workers import opening

    return opening.select(arguments.device, compile_only=compiles_only(arguments))


def end() -> None:
    """End what was not needed."""
    _choices.clear()
    spare.end()
