"""Speed of a conformance run: executed cases per second, batched and with one case per shader.

Both methods run the same cases on the same device in alternation; the ratio is the gain from batching. The
rate of the whole suite is in the summary.json of each run; this script shows the effect of batching on it.

    python bench/conformance_speed.py --device swiftshader --jobs 2 --json FILE
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vkgroup import drivers
from vkgroup.conformance import AnyCase, Result, family_of, plan, select
from vkgroup.conformance.run import Setup
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.record.run import versions
from vkgroup.workers.opening import open_device
from vkgroup.workers.opening import select as select_device
from vkgroup.workers.scheduler import LocalScheduler


@contextmanager
def cold_cache() -> Iterator[None]:
    """Use a vkgroup cache with only the drivers, and disable Mesa's cache: every shader is compiled."""
    real = drivers.cache_folder()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "drivers").symlink_to(real / "drivers", target_is_directory=True)
        before = os.environ.get("VKGROUP_CACHE")
        os.environ["VKGROUP_CACHE"] = folder
        os.environ["MESA_SHADER_CACHE_DISABLE"] = "true"
        try:
            yield
        finally:
            os.environ["VKGROUP_CACHE"] = before if before is not None else str(real)


def seconds(
    device: DeviceInfo, capabilities: Capabilities, cases: Sequence[AnyCase], jobs: int, batch: int | None
) -> float:
    """Run cases once with new workers and a cold cache, and return the wall-clock seconds."""
    judged: list[Result] = []
    start = time.perf_counter()
    with cold_cache():
        scheduler = LocalScheduler([device], jobs, capabilities)
        for results in scheduler.run(Setup(device, 0, 60.0), plan.batches(cases, capabilities, batch)):
            judged += results
    elapsed = time.perf_counter() - start
    assert len(judged) == len(cases)
    return elapsed


def report(capabilities: Capabilities, result: Mapping[str, Any], file: Path | None) -> None:
    """Print a result with device, driver and versions as JSON, and write it to the file, if there is one."""
    about = {
        "device": capabilities.name,
        "driver": f"{capabilities.driver_name} {capabilities.driver_info}",
        "versions": versions(),
        "processors": os.cpu_count(),
    }
    text = json.dumps({**about, **result}, indent=2)
    print(text)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")


def main() -> int:
    """Measure and print the result, and write JSON if requested."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--cases", type=int, default=2000, help="cases of the batched run (default: 2000)")
    parser.add_argument("--single", type=int, default=100, help="cases of the unbatched run (default: 100)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    device = select_device(arguments.device)
    with open_device(device) as opened:
        capabilities = opened.capabilities
    supported = [case for case in select() if not family_of(case).missing(case, capabilities)]
    many = supported[:: max(1, len(supported) // arguments.cases)]
    few = supported[:: max(1, len(supported) // arguments.single)]
    rates: dict[str, list[float]] = {"batched": [], "single": []}
    for _ in range(arguments.repeats):
        for name, cases, batch in (("batched", many, None), ("single", few, 1)):
            elapsed = seconds(device, capabilities, cases, arguments.jobs, batch)
            rates[name].append(len(cases) / elapsed)
            print(
                f"{name}: {len(cases)} cases in {elapsed:.2f} s, {rates[name][-1]:.0f} a second",
                file=sys.stderr,
            )
    result = {
        "jobs": arguments.jobs,
        "cases_a_second": {name: sorted(round(rate, 1) for rate in values) for name, values in rates.items()},
        "ratio_of_medians": round(
            statistics.median(rates["batched"]) / statistics.median(rates["single"]), 2
        ),
        "note": "worker start included; vkgroup's and Mesa's caches cold, other drivers' own as they are",
    }
    report(capabilities, result, arguments.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
