"""Plant errors in AMD machine code, and see whether the suite finds them.

    python -m campaigns.amd_planted radv:navi31 --count 200 --seed 1 [--out FILE]

in `tests/`. Each change is one instruction, changed wherever a case executes it: another DPP control or mask,
a dropped wait, swapped operands, another EXEC mask, the operation of another row, another lane, address or
register. It is planted in a case that passes, and is found if this case or another one that executes the same
instruction fails. Other cases are tried in the order of a run whose names are near: the same operation first.
A change without an effect on any byte that the case reads back is not counted; one that has an effect, and
that no case finds, is printed with its case.
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
from unittest.mock import patch

import numpy as np

from vkgroup.base.errors import DeviceLost, DispatchTimeout, NotEmulated, VkgroupError
from vkgroup.conformance import plan
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import family_of, select
from vkgroup.conformance.run import execute_batch
from vkgroup.device import launch
from vkgroup.device.fetched import driver_of
from vkgroup.dispatch.buffer import Buffer
from vkgroup.workers.emulated import started_emulation
from vkgroup.workers.opening import open_device
from vkgroup.workers.opening import select as select_device

FILTERS = (
    "shuffle.compute.*", "shuffle_relative.compute.*", "arithmetic.compute.*", "clustered.compute.*",
    "ballot.compute.*", "vote.compute.*", "quad.compute.*", "rotate.compute.*", "reconvergence.*.compute.*",
    "memory_model.compute.*", "partitioned.compute.*", "compute_model.*",
)  # fmt: skip

#: Seconds that a dispatch may take.
SECONDS = 20.0

#: Statuses by which a change is found.
WRONG = ("Fail", "Crash", "Timeout")

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
    if match := re.fullmatch(r"(v_sub_(?!co)\w+|v_cndmask\w*|v_lshlrev\w*) (\S+, )(\S+), ([^, ]+)(.*)", text):
        yield "swapped operands", f"{match[1]} {match[2]}{match[4]}, {match[3]}{match[5]}"
    if "_saveexec" in name:
        instead = {"and": "s_xor_", "or": "s_and_"}
        yield "wrong EXEC", re.sub("^s_(and|or)_", lambda found: instead[found[1]], text)
    if re.match(r"s_mov_b(32|64) exec", text):
        yield "wrong EXEC", re.sub(r", .*", ", 0x5555", text)
    if name.startswith("v_readlane"):
        yield "other lane", re.sub(r", (\d+)$", lambda found: f", {int(found[1]) ^ 1}", text)
    if name.startswith(("ds_bpermute", "ds_permute")):
        yield "other lane", _other_offset(text)
    if name.startswith("v_permlane"):
        yield "other lane", re.sub(r", (-?\w+), (-?\w+)( op_sel|$)", r", 0x12345670, \2\3", text)
    if re.match(r"buffer_(load|store)_(b|dword)|ds_(load|store|read|write)_b", name):
        yield "other address", _other_offset(text)
    if match := re.match(r"v_cmp_([a-z]+)_", base):
        yield "other row", text.replace(match[0], f"v_cmp_{'le' if match[1] == 'gt' else 'gt'}_", 1)
    if name.startswith("v_mbcnt_lo"):
        yield "other row", text.replace("v_mbcnt_lo", "v_mbcnt_hi")
    if match := re.fullmatch(
        r"(v_(?:add|mul|fma|and|or|xor|min|max|cndmask)\w* v\d+, )(.*?)v(\d+)((?:,.*)?)", text
    ):
        yield "other register", f"{match[1]}{match[2]}v{max(0, int(match[3]) - 1)}{match[4]}"


def changes_of_multiplication(text: str) -> Iterator[str]:
    """Return what an instruction of the reported shader may become: other registers, other channels."""
    operands = text.partition(" dmask")[0]
    for place in list(re.finditer(r"\bv(\d+)\b", operands))[text.startswith("v_") :]:
        yield f"{text[: place.start()]}v{int(place[1]) ^ 1}{text[place.end() :]}"
    if "dmask:0x1" in text:
        yield text.replace("dmask:0x1", "dmask:0x2")
    yield from (new for _, new in changes(text))


def _other_offset(text: str) -> str:
    return re.sub(r" offset:\S+", "", text) if "offset" in text else f"{text} offset:4"


class Planting:
    """Changes the texts that the emulation of this process reads, and executes cases."""

    def __init__(self, choice: str) -> None:
        self.info = select_device(choice)
        self.emulation: Any = started_emulation(self.info)
        self.emulation.timeout = SECONDS
        self.executor: Executor | None = None
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

        self.emulation._compiler = watched  # type: ignore[method-assign]

    def opened(self) -> Executor:
        """Return what executes cases, on a new device after one that was lost."""
        if self.executor is None or self.executor.device.lost:
            self.executor = Executor(open_device(self.info), seed=1, timeout=SECONDS)
        return self.executor

    def read_back(self, case: Any) -> list[bytes]:
        """Return what a case reads from its buffers under the current change."""
        arrays, read = [], Buffer.read

        def recorded(buffer: Buffer, *words: Any, **options: Any) -> Any:
            array = read(buffer, *words, **options)
            arrays.append(array.tobytes())
            return array

        with patch.object(Buffer, "read", recorded):
            self.status(case)
        return arrays

    def status(self, case: Any) -> str:
        """Return the status of a case under the current change."""
        executor = self.opened()
        (batch,) = plan.batches([case], executor.capabilities, shuffle=None)
        try:
            result: Any = execute_batch(executor, batch)[0]
        except (DeviceLost, DispatchTimeout):
            self.executor = None
            return "Timeout"
        return str(getattr(result, "status", "no verdict"))


class Campaign:
    """Plants changes one after the other and counts what is found."""

    def __init__(self, planting: Planting, seed: int, others: int) -> None:
        self.planting, self.others = planting, others
        capabilities = planting.opened().capabilities
        self.chooser = random.Random(seed)
        self.planted, self.found, self.elsewhere = Counter[str](), Counter[str](), Counter[str]()
        self.missed: list[dict[str, str]] = []
        self.without_effect = 0
        self.by_category: dict[str, list[Any]] = {}
        for case in select(FILTERS):
            if not family_of(case).missing(case, capabilities):
                self.by_category.setdefault(case.name.split(".")[0], []).append(case)
        self.executing: dict[str, list[Any]] = {}

    def _status(self, case: Any) -> str:
        self.planting.seen = {}
        status = self.planting.status(case)
        for text in self.planting.seen:
            self.executing.setdefault(text, []).append(case)
        return status

    def _near(self, case: Any, text: str) -> Iterator[Any]:
        """Return other cases that may execute an instruction, the likeliest first."""
        tried = {case.name}
        words = case.name.split(".")
        mates = self.by_category[words[0]]
        siblings = [mate for mate in mates if mate.name.split(".")[:3] == words[:3]]
        every = [mate for cases in self.by_category.values() for mate in cases]
        known = list(self.executing.get(text, ()))
        for group in (known, siblings, mates, every):
            for other in self.chooser.sample(group, min(self.others, len(group))):
                if other.name not in tried:
                    tried.add(other.name)
                    yield other

    def plant(self) -> None:
        """Plant one change in a case."""
        planting = self.planting
        case = self.chooser.choice(self.by_category[self.chooser.choice(sorted(self.by_category))])
        planting.change = None
        if self._status(case) != "Pass":
            return
        every = ((text, *change) for text in planting.seen for change in changes(text))
        possible = [change for change in every if change[2] != change[0]]
        if not possible:
            return
        kind = self.chooser.choice(sorted({kind for _, kind, _ in possible}))
        text, kind, new = self.chooser.choice([change for change in possible if change[1] == kind])
        planting.change = text, new
        if self._status(case) in WRONG:
            self.planted[kind] += 1
            self.found[kind] += 1
            return
        planting.change = None
        right = planting.read_back(case)
        planting.change = text, new
        if planting.read_back(case) == right:
            self.without_effect += 1
            return
        self.planted[kind] += 1
        for other in self._near(case, text):
            if self._status(other) in WRONG:
                planting.change = None
                if self._status(other) == "Pass":
                    self.found[kind] += 1
                    self.elsewhere[kind] += 1
                    return
                planting.change = text, new
        self.missed.append({"case": case.name, "kind": kind, "instruction": text, "changed": new})


#: The multiplication of MangoHud#2081, in which Mesa 26.0 was wrong on RDNA 3, in a compute shader.
REPORTED = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) uniform sampler2D font;
layout(std430, binding = 1) readonly buffer Colors { vec4 colors[]; };
layout(std430, binding = 2) writeonly buffer Shown { vec4 shown[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    vec2 place = (vec2(i % 8u, i / 8u) + 0.5) / 8.0;
    shown[i] = colors[i] * vec4(1, 1, 1, textureLod(font, place, 0.0).r);
}
"""


def reported(planting: Planting) -> tuple[int, list[str]]:
    """Plant errors in a shader that was wrong; return how many, and those that do not change its colors."""
    chooser = np.random.default_rng(1)
    font = chooser.random((8, 8), np.float32)
    colors = chooser.random((64, 4), np.float32)
    right = colors.copy()
    right[:, 3] *= font.ravel()
    device = planting.opened().device
    module = device.compile(REPORTED, stage="compute")

    def is_right() -> bool:
        planting.seen = {}
        with device.image(font, format="r32f", sampled=True) as image:
            texture = image, device.sampler(filter="nearest")
            shown = np.zeros((64, 4), np.float32)
            try:
                result = device.run(module, 1, {"font": texture, "Colors": colors, "Shown": shown})
            except NotEmulated:
                return True  # the emulation has no such instruction
            except VkgroupError:
                return False
        return bool(np.array_equal(result["Shown"], right))

    planting.change = None
    if not is_right():
        return 0, ["without a change, too"]
    texts = list(planting.seen)
    sample = next(place for place, text in enumerate(texts) if text.startswith("image_sample"))
    without_effect, count = [], 0
    for text in texts[sample:]:
        for new in changes_of_multiplication(text):
            planting.change, count = (text, new), count + 1
            if is_right():
                without_effect.append(f"{text} -> {new}")
    planting.change = None
    return count, without_effect


def main() -> int:
    """Plant the errors and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--others", type=int, default=60, help="other cases of each kind to try (default: 60)"
    )
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    driver, gpu = driver_of(options.device)
    if os.environ.get(launch.OWN) != launch.own_choice(driver, gpu):
        command, environment = launch.launch(driver, gpu, "campaigns.amd_planted", *sys.argv[1:])
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        return subprocess.run(command, env=environment).returncode
    planting = Planting(options.device)
    started = time.monotonic()
    campaign = Campaign(planting, options.seed, options.others)
    while campaign.planted.total() < options.count:
        campaign.plant()
        print(f"\r{campaign.planted.total()} planted", end="", file=sys.stderr, flush=True)
    tried, unseen = reported(planting)
    planted, found, elsewhere = campaign.planted, campaign.found, campaign.elsewhere
    for kind, count in sorted(planted.items()):
        print(f"{kind:20} {found[kind]:4} of {count:4}, {elsewhere[kind]} by another case")
    print(f"{'all':20} {found.total():4} of {planted.total():4} in {time.monotonic() - started:.0f} s")
    print(f"{campaign.without_effect} further changes had no effect on what the case reads back")
    for entry in campaign.missed:
        print(json.dumps(entry))
    print(f"MangoHud#2081: {tried - len(unseen)} of {tried} changes are seen in its colors")
    for text in unseen:
        print(text)
    if options.out:
        result = {"planted": planted, "found": found, "by_another_case": elsewhere, "missed": campaign.missed}
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
