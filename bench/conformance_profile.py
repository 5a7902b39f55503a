"""Where a worker of a conformance run spends its processor time: driver, compiler, validation, Python.

One worker executes a sample of the suite in this process, after a smaller one that is not counted. Every
Vulkan function of the device, every request to the compiler process and every call of SPIRV-Tools is timed,
without what is called inside. What remains is Python and NumPy.

    python bench/conformance_profile.py --device swiftshader --cases 4000 --json FILE
"""

from __future__ import annotations

import argparse
import cProfile
import resource
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conformance_speed import cold_cache, report

from vkgroup.compiler import isolated
from vkgroup.compiler.validator import SpirvTools
from vkgroup.conformance import AnyCase, family_of, plan, select
from vkgroup.conformance.run import Setup, execute_batch
from vkgroup.device import vk
from vkgroup.workers.opening import open_device
from vkgroup.workers.opening import select as select_device

DRIVER_COMPILES = "driver: compiling"
DRIVER_WAITS = "driver: waiting"
DRIVER = "driver: other calls"
FRONT_END = "glslang"
VALIDATION = "validation"
PYTHON = "Python and NumPy"
CATEGORIES = (DRIVER_COMPILES, DRIVER_WAITS, DRIVER, FRONT_END, VALIDATION, PYTHON)

_COMPILING = ("vkCreateComputePipelines", "vkCreateGraphicsPipelines", "vkCreateRayTracingPipelinesKHR")
_COMPILING += ("vkCreateShaderModule", "vkCreateShadersEXT")
_WAITING = ("vkWaitSemaphores", "vkWaitForFences", "vkQueueWaitIdle", "vkDeviceWaitIdle")


class Stopwatch:
    """Wall time and time of the thread that made it, by category, without what is nested."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = defaultdict(float)
        self.thread: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)
        self._nested: list[list[float]] = []
        self._thread = threading.get_ident()

    def timed(self, category: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time added to a category; calls of other threads are not timed."""

        def call(*arguments: Any, **named: Any) -> Any:
            if threading.get_ident() != self._thread:
                return function(*arguments, **named)
            nested = [0.0, 0.0]
            self._nested.append(nested)
            wall, thread = time.perf_counter(), time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                wall, thread = time.perf_counter() - wall, time.thread_time() - thread
                self._nested.pop()
                self.wall[category] += wall - nested[0]
                self.thread[category] += thread - nested[1]
                self.calls[category] += 1
                if self._nested:
                    self._nested[-1][0] += wall
                    self._nested[-1][1] += thread

        return call


def _category(name: str) -> str:
    if name in _COMPILING:
        return DRIVER_COMPILES
    return DRIVER_WAITS if name in _WAITING else DRIVER


@contextmanager
def watched(watch: Stopwatch) -> Iterator[None]:
    """Time the driver's functions, the compiler process and the validator in the block."""
    cast, ask, problem = vk.Functions.cast, isolated._Server.ask, SpirvTools.problem

    def timed_cast(functions: vk.Functions, name: str, signature: str) -> Any:
        return watch.timed(_category(name), cast(functions, name, signature))

    vk.Functions.cast = timed_cast  # type: ignore[method-assign]
    isolated._Server.ask = watch.timed(FRONT_END, ask)  # type: ignore[method-assign]
    SpirvTools.problem = watch.timed(VALIDATION, problem)  # type: ignore[method-assign]
    try:
        yield
    finally:
        vk.Functions.cast = cast  # type: ignore[method-assign]
        isolated._Server.ask = ask  # type: ignore[method-assign]
        SpirvTools.problem = problem  # type: ignore[method-assign]


def _used(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def measure(
    device: Any, first: Sequence[AnyCase], cases: Sequence[AnyCase], calls: cProfile.Profile | None
) -> dict[str, Any]:
    """Execute cases on a new device; return seconds by category, of wall time and of processors.

    The `first` cases are not counted: a worker of a whole run imports and reads its tables once for thousands
    of cases.
    """
    watch = Stopwatch()
    with watched(watch):
        session = Setup(device, 0, 60.0).open()
        for batch in plan.batches(first, session.executor.capabilities):
            execute_batch(session.executor, batch)
        isolated._close()  # its time counts when it has ended
        batches = list(plan.batches(cases, session.executor.capabilities))
        for counts in (watch.wall, watch.thread, watch.calls):
            counts.clear()
        wall, own = time.perf_counter(), _used(resource.RUSAGE_SELF)
        children, main = _used(resource.RUSAGE_CHILDREN), time.thread_time()
        if calls is not None:
            calls.enable()
        for batch in batches:
            execute_batch(session.executor, batch)
        if calls is not None:
            calls.disable()
        wall, own = time.perf_counter() - wall, _used(resource.RUSAGE_SELF) - own
        main = time.thread_time() - main
        session.close()
    isolated._close()
    children = _used(resource.RUSAGE_CHILDREN) - children
    thread = dict(watch.thread)
    # Threads of the driver compile and execute; the compiler process is a child.
    busy = {category: thread.get(category, 0.0) for category in CATEGORIES}
    busy[PYTHON] = main - sum(thread.values())
    busy[FRONT_END] += children
    busy["driver: its threads"] = own - main
    elapsed = {category: watch.wall.get(category, 0.0) for category in CATEGORIES}
    elapsed[PYTHON] = wall - sum(watch.wall.values())
    return {
        "batches": len(batches),
        "wall_seconds": wall,
        "processor_seconds": own + children,
        "wall": elapsed,
        "busy": busy,
        "calls": dict(watch.calls),
    }


def main() -> int:
    """Measure and print the shares, and write JSON if requested."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--filter", action="append", default=[])
    parser.add_argument("--python", type=Path, help="write a cProfile of the worker to this file")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    device = select_device(arguments.device)
    with open_device(device) as opened:
        capabilities = opened.capabilities
    supported = [
        case
        for case in select(tuple(arguments.filter))
        if not family_of(case).missing(case, capabilities) and plan.risk(case) == 0
    ]
    # Neighbours share a batch, as in the whole suite: every n-th chunk of them.
    count = max(2, len(supported) // arguments.cases)
    cases = plan.Shard(1, count).of(supported)
    first = plan.Shard(2, count).of(supported)[::8]
    profile = cProfile.Profile() if arguments.python else None
    with cold_cache():
        measured = measure(device, first, cases, profile)
    if profile is not None:
        profile.dump_stats(arguments.python)
    total = sum(measured["busy"].values())
    beyond = sum(measured["busy"][name] for name in (FRONT_END, VALIDATION, PYTHON))
    result = {
        "cases": len(cases),
        "milliseconds_a_case": round(1000 * total / len(cases), 3),
        "milliseconds_a_case_beyond_the_driver": round(1000 * beyond / len(cases), 3),
        "share_beyond_the_driver": round(beyond / total, 3),
        "share": {name: round(seconds / total, 4) for name, seconds in measured["busy"].items()},
        **{
            name: {key: round(value, 3) for key, value in measured[name].items()}
            for name in ("busy", "wall", "calls")
        },
        **{name: round(measured[name], 3) for name in ("batches", "wall_seconds", "processor_seconds")},
        "note": "one worker; vkgroup's and Mesa's caches cold, other drivers' own as they are",
    }
    report(capabilities, result, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
