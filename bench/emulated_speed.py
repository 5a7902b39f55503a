"""Speed of an emulated AMD GPU on one core, beside the reference device: instructions a second.

    python bench/emulated_speed.py radv:navi31 [--out FILE.json]

The arithmetic and the reduction of ``reference_speed.py``, with 256 to 65,536 invocations. An instruction
counts once for all waves that execute it together (at most 256), and once for each wave in the second number.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from reference_speed import ARITHMETIC, REDUCTION, REPEATS, STEP, median_seconds

import vkgroup
from vkgroup.device import launch
from vkgroup.device.fetched import driver_of
from vkgroup.dispatch import Device
from vkgroup.workers.emulated import started_emulation
from vkgroup.workers.opening import select

SHADERS = {"arithmetic": ARITHMETIC.format(rounds=64, body=" ".join([STEP] * 8)), "reduction": REDUCTION}
GROUPS = (1, 16, 256)


def seconds_of(device: Device, name: str, groups: int) -> float:
    """Return the seconds of a dispatch that has been compiled before."""
    arrays = {"Data": np.arange(groups * 256, dtype=np.float32) / 1024}
    if name == "reduction":
        arrays["Sums"] = np.zeros(groups, np.float32)
    module = device.compile(SHADERS[name], stage="compute")
    device.run(module, groups, arrays)
    return median_seconds(lambda: device.run(module, groups, arrays))


def main() -> int:
    """Measure, print the results, and write a file if requested."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("device", help="an emulated GPU, such as radv:navi31")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    arguments = parser.parse_args()
    driver, gpu = driver_of(arguments.device)
    if os.environ.get(launch.OWN) != launch.own_choice(driver, gpu):
        command, environment = launch.launch(driver, gpu, "emulated_speed", *sys.argv[1:])
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        return subprocess.run(command, env=environment).returncode
    info = select(arguments.device)
    emulation = started_emulation(info)
    rows: list[dict[str, Any]] = []
    with vkgroup.open(info) as device, vkgroup.open("reference:32") as reference:
        size = info.subgroup_size
        for name in SHADERS:
            for groups in GROUPS:
                seconds_of(device, name, groups)
                before = emulation.instructions
                seconds = seconds_of(device, name, groups)
                steps = (emulation.instructions - before) / (1 + REPEATS)
                rows.append(
                    {
                        "shader": name,
                        "invocations": groups * 256,
                        "seconds": seconds,
                        "instructions_per_second": steps / seconds,
                        "wave_instructions_per_second": steps * min(groups * 256 // size, 256) / seconds,
                        "times_the_reference": seconds / seconds_of(reference, name, groups),
                    }
                )
    found = {
        "machine": {"system": platform.system(), "processor": platform.machine(), "numpy": np.__version__},
        "device": arguments.device, "driver": driver.package, "rows": rows,
    }  # fmt: skip
    text = json.dumps(found, indent=2)
    print(text)
    if arguments.out is not None:
        arguments.out.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
