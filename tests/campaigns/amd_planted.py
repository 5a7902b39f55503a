"""Plant errors in AMD machine code, and see whether the suite finds them.

    python -m campaigns.amd_planted radv:navi31 --count 200 --seed 1 [--out FILE]

in `tests/`. Each change is one instruction of one case, changed wherever the case executes it: another DPP
control or mask, a dropped wait, swapped operands, another EXEC mask, the operation of another row, another
lane, address or register. The case passes before. A change without an effect on any byte that the case
writes is not counted; one that has an effect, and that the suite does not find, is printed with its case.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from vkgroup.conformance import plan
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import family_of, select
from vkgroup.conformance.run import execute_batch
from vkgroup.device import launch
from vkgroup.device.fetched import driver_of
from vkgroup.workers.emulated import emulated, started_emulation
from vkgroup.workers.opening import open_device
from vkgroup.workers.opening import select as select_device

FILTERS = (
    "shuffle.compute.*", "shuffle_relative.compute.*", "arithmetic.compute.*", "clustered.compute.*",
    "ballot.compute.*", "vote.compute.*", "quad.compute.*", "rotate.compute.*", "reconvergence.*.compute.*",
    "memory_model.compute.*",
)  # fmt: skip

_OTHER = {
    "v_add_nc_u32": "v_sub_nc_u32", "v_sub_nc_u32": "v_add_nc_u32", "v_and_b32": "v_or_b32",
    "v_or_b32": "v_xor_b32", "v_xor_b32": "v_or_b32", "v_min_u32": "v_max_u32", "v_max_u32": "v_min_u32",
    "v_min_i32": "v_min_u32", "v_max_i32": "v_max_u32", "v_add_f32": "v_sub_f32", "v_mul_f32": "v_add_f32",
    "v_lshlrev_b32": "v_lshrrev_b32", "v_ashrrev_i32": "v_lshrrev_b32", "s_add_u32": "s_sub_u32",
    "s_and_b32": "s_or_b32", "s_lshl_b32": "s_lshr_b32", "v_mul_lo_u32": "v_mul_hi_u32",
    "v_max_f32": "v_min_f32", "v_min_f32": "v_max_f32", "v_add_f16": "v_sub_f16",
}  # fmt: skip


def changes(text: str) -> Iterator[tuple[str, str]]:
    """Return what an instruction's text may become, each with the name of the change."""
    name = text.split()[0]
    base = re.sub(r"_(e32|e64|dpp|e64_dpp)$", "", name)
    if match := re.search(r"row_sh([lr]):(\d+)", text):
        other = "l" if match[1] == "r" else "r"
        yield "DPP direction", text.replace(match[0], f"row_sh{other}:{match[2]}")
        yield "DPP distance", text.replace(match[0], f"row_sh{match[1]}:{int(match[2]) % 15 + 1}")
    if match := re.search(r"quad_perm:\[(\d),(\d),(\d),(\d)\]", text):
        yield "DPP lanes", text.replace(match[0], f"quad_perm:[{match[2]},{match[1]},{match[3]},{match[4]}]")
    if match := re.search(r"row_x?mask:0x?(?!f)(\w+)|row_xmask:(\d+)", text):
        yield "DPP lanes", text.replace(match[0], "row_xmask:3" if "xmask" in match[0] else "row_mask:0xf")
    if name.startswith(("s_waitcnt", "s_wait_")) and "depctr" not in name:
        yield "dropped wait", "s_nop 0"
    if base in _OTHER:
        yield "other row", text.replace(base, _OTHER[base], 1)
    if match := re.fullmatch(r"(v_sub_\w+|v_cndmask\w*|v_lshlrev\w*) (\S+, )(\S+), ([^, ]+)(.*)", text):
        yield "swapped operands", f"{match[1]} {match[2]}{match[4]}, {match[3]}{match[5]}"
    if "_saveexec" in name:
        other = {"and": "s_xor_", "or": "s_and_"}
        yield "wrong EXEC", re.sub("^s_(and|or)_", lambda found: other[found[1]], text)
    if re.match(r"s_mov_b(32|64) exec", text):
        yield "wrong EXEC", re.sub(r", .*", ", 0x5555", text)
    if name.startswith("v_readlane"):
        yield "other lane", re.sub(r", (\d+)$", lambda found: f", {int(found[1]) ^ 1}", text)
    if name.startswith(("ds_bpermute", "ds_permute")):
        yield "other lane", _other_offset(text)
    if name.startswith("v_permlane"):
        yield "other lane", re.sub(r", (-?\w+), (-?\w+)( op_sel|$)", r", 0x12345670, \2\3", text)
    if name.startswith(("buffer_load_b", "buffer_store_b", "ds_load_b", "ds_store_b")):
        yield "other address", _other_offset(text)
    if match := re.match(r"v_cmp_([a-z]+)_", base):
        yield "other row", text.replace(match[0], f"v_cmp_{'le' if match[1] == 'gt' else 'gt'}_", 1)
    if name.startswith("v_mbcnt_lo"):
        yield "other row", text.replace("v_mbcnt_lo", "v_mbcnt_hi")


def _other_offset(text: str) -> str:
    return re.sub(r" offset:\S+", "", text) if "offset" in text else f"{text} offset:4"


class Planting:
    """Changes the texts that the emulation of this process reads."""

    def __init__(self, choice: str) -> None:
        self.device = emulated(select_device(choice))
        self.emulation: Any = started_emulation(self.device)
        self.seen: dict[str, None] = {}
        self.change: tuple[str, str] | None = None
        compiler_of: Callable[[int], Any] = self.emulation._compiler

        def watched(wave: int) -> Any:
            compiler = compiler_of(wave)
            if not hasattr(compiler, "watched"):
                compiler.watched, step = True, compiler.step

                def changed(text: str, length: int = 4) -> Any:
                    self.seen.setdefault(text)
                    if self.change is not None and text == self.change[0]:
                        return step(self.change[1], length)
                    return step(text, length)

                compiler.step = changed
            return compiler

        self.emulation._compiler = watched

    def written(self, executor: Executor, case: Any) -> dict[int, int]:
        """Return the bytes that a case writes under the current change, by address."""
        memory = self.emulation._requests.memory
        store, places = memory.store, set[int]()

        def recorded(addresses: Any, values: Any, size: int) -> None:
            places.update(int(address) + byte for address in addresses.ravel() for byte in range(size))
            store(addresses, values, size)

        memory.store = recorded
        try:
            self.status(executor, case)
        finally:
            del memory.store
        return {place: int(memory.bytes(place, 1)[0]) for place in places}

    def status(self, executor: Executor, case: Any) -> str:
        """Return the status of a case under the current change."""
        (batch,) = plan.batches([case], executor.capabilities, shuffle=None)
        result: Any = execute_batch(executor, batch)[0]
        return str(getattr(result, "status", "no verdict"))


def main() -> int:
    """Plant the errors and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    driver, gpu = driver_of(options.device)
    if os.environ.get(launch.OWN) != launch.own_choice(driver, gpu):
        command, environment = launch.launch(driver, gpu, "campaigns.amd_planted", *sys.argv[1:])
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        return subprocess.run(command, env=environment).returncode
    planting = Planting(options.device)
    chooser = random.Random(options.seed)
    found, kinds, missed, equivalent = Counter[str](), Counter[str](), [], 0
    started = time.monotonic()
    with open_device(planting.device) as device:
        executor = Executor(device, seed=1, timeout=5)
        cases = [case for case in select(FILTERS) if not family_of(case).missing(case, device.capabilities)]
        by_category: dict[str, list[Any]] = {}
        for case in cases:
            by_category.setdefault(case.name.split(".")[0], []).append(case)
        while sum(kinds.values()) < options.count:
            case = chooser.choice(by_category[chooser.choice(sorted(by_category))])
            planting.change, planting.seen = None, {}
            if planting.status(executor, case) != "Pass":
                continue
            every = ((text, *change) for text in planting.seen for change in changes(text))
            possible = [change for change in every if change[2] != change[0]]
            if not possible:
                continue
            kind = chooser.choice(sorted({kind for _, kind, _ in possible}))
            text, kind, new = chooser.choice([change for change in possible if change[1] == kind])
            planting.change = text, new
            status = planting.status(executor, case)
            kinds[kind] += 1
            if status in ("Fail", "Crash", "Timeout"):
                found[kind] += 1
                continue
            changed = planting.written(executor, case)
            planting.change = None
            if planting.written(executor, case) == changed:
                kinds[kind] -= 1  # it changes nothing that the case writes
                equivalent += 1
                continue
            entry = {"kind": kind, "instruction": text, "changed": new, "status": status}
            missed.append({"case": case.name, **entry})
    for kind, count in sorted(kinds.items()):
        print(f"{kind:20} {found[kind]:4} of {count:4}")
    print(f"{'all':20} {found.total():4} of {kinds.total():4} in {time.monotonic() - started:.0f} s")
    print(f"{equivalent} further changes had no effect on what the case writes")
    for entry in missed:
        print(json.dumps(entry))
    if options.out:
        options.out.write_text(json.dumps({"found": found, "planted": kinds, "missed": missed}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
