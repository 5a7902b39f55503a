"""Counts why NVK rejects shaders: the compiler's message, and whether its scheduler mixed sums of 64 bits.

``python tests/campaigns/fuzz/nak_causes.py --device nvk:gk104 --robust FOLDER`` compiles compute shaders
(``.comp`` or ``.spv``), such as those that `campaigns.random_programs` left in FOLDER, and counts the causes.

GPUs before Volta add 64-bit integers with two instructions, and the second reads the carry flag that the
first writes. There is one flag: see the finding nvk-add-int64.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from gpu_process import run_code

PASS = "NAK IR after "
"""The driver prints this, the name of a pass and the program after it, with ``NAK_DEBUG=print``."""

_COMPILATION = """
import sys, vkgroup
from vkgroup.compiler import TargetEnvironment
from vkgroup.device.discovery import inspect_in_own_process
device, file, robust = sys.argv[1:]
with vkgroup.open(inspect_in_own_process(device)[0], robust=robust == "True") as device:
    device.pipeline(device.compile(file, target=TargetEnvironment.VULKAN_1_2))
"""

_BLOCK = re.compile(r"^block", re.MULTILINE)
_CARRY = re.compile(r"%c\d+")
_PANIC = re.compile(r"panicked at \.\./src/nouveau/compiler/(\S+?):\d+:\d+:\n(.*)")


def mixes_sums(program: str) -> bool:
    """Return whether a carry is written in a program (NAK's text) while another one is still to be read."""
    for block in _BLOCK.split(program):
        lines = block.splitlines()
        last_use = {carry: number for number, line in enumerate(lines) for carry in _CARRY.findall(line)}
        busy_until = -1
        for number, line in enumerate(lines):
            written, equals, _ = line.partition("=")
            for carry in _CARRY.findall(written) if equals else ():
                if number < busy_until:
                    return True
                busy_until = last_use[carry]
    return False


def cause_of(output: str) -> str:
    """Return why a program is rejected, from all that the driver printed with ``NAK_DEBUG=print``."""
    if (panic := _PANIC.search(output)) is None:
        return "no message: it compiles"
    message = f"{panic[1]}: {panic[2]}"
    programs = output.split(PASS)[1:]
    scheduler = next((n for n, text in enumerate(programs) if text.startswith("opt_instr_sched_prepass")), 0)
    if scheduler and mixes_sums(programs[scheduler]) and not mixes_sums(programs[scheduler - 1]):
        message += ", after the scheduler mixed sums of 64 bits"
    return message


def output_of(choice: str, file: Path, robust: bool) -> str:
    """Compile a program for a device in a new process and return what the driver prints."""
    try:
        return run_code(choice, _COMPILATION, choice, str(file), str(robust), NAK_DEBUG="print").stderr
    except subprocess.CalledProcessError as rejected:
        return str(rejected.stderr)


def main() -> None:
    """Print the causes of all programs in a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", required=True, help="such as nvk:gk104")
    parser.add_argument("--robust", action="store_true", help="with robust access to buffers, as campaigns")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    files = sorted(file for file in arguments.folder.iterdir() if file.suffix in (".comp", ".spv"))
    causes = Counter(cause_of(output_of(arguments.device, file, arguments.robust)) for file in files)
    for cause, count in causes.most_common():
        print(f"{count:6,} {cause}")


if __name__ == "__main__":
    main()
