"""Instructions as hazards see them: the unit that executes them, their registers, what they wait for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vkgroup.amd.steps import Step
from vkgroup.amd.text import EXEC, VCC

_TRANSCENDENTAL = re.compile(r"v_s?_?(rcp|rsq|sqrt|exp|log|sin|cos)_")
_CARRIES = ("v_addc", "v_subb", "v_add_co_ci", "v_sub_co_ci", "v_subrev_co_ci", "v_cndmask_b", "v_div_fmas")
VECTORS = 256  # number of the first vector register


@dataclass(frozen=True)
class Use:
    """What hazards need to know of an instruction.

    `reads`, `writes`: numbers of registers; `states`: instructions for which it counts in a distance.
    `idle`: fields of ``s_waitcnt_depctr`` that it waits for, also without that instruction.
    """

    step: Step
    name: str
    kind: str  # valu, salu, branch, smem, vmem, lds or other
    reads: frozenset[int]
    writes: frozenset[int]
    idle: frozenset[str]
    states: int
    lane_mask: frozenset[int]

    @property
    def is_vector(self) -> bool:
        """Whether the vector unit executes it."""
        return self.kind == "valu"

    @property
    def is_scalar(self) -> bool:
        """Whether the scalar unit executes it."""
        return self.kind in ("salu", "branch")

    @property
    def is_transcendental(self) -> bool:
        """Whether the unit of ``rcp``, ``exp`` and others executes it."""
        return _TRANSCENDENTAL.match(self.name) is not None


def use_of(step: Step) -> Use:
    """Return what hazards need to know of a step."""
    name, kind = step.instruction.name, _kind_of(step.instruction.name)
    if kind == "salu" and (step.target is not None or step.indirect):
        kind = "branch"
    states = int(step.instruction.operands[0].value) + 1 if name == "s_nop" else 1
    mask = _lane_mask(step) if name.startswith(_CARRIES) else frozenset()
    return Use(step, name, kind, step.reads, step.writes, _idle(step, kind), states, mask)


def _kind_of(name: str) -> str:
    if name.startswith("v_"):
        return "valu"
    if name.startswith(("s_load", "s_buffer_load", "s_memtime", "s_memrealtime", "s_dcache")):
        return "smem"
    if name.startswith("s_"):
        return "salu"
    if name.startswith(("buffer_", "tbuffer_", "image_", "global_", "flat_", "scratch_")):
        return "vmem"
    return "lds" if name.startswith("ds_") else "other"


def _lane_mask(step: Step) -> frozenset[int]:
    """Return the registers of the mask that an instruction reads beside its values."""
    last = step.instruction.operands[-1]
    first = last.index if last.kind == "s" and step.instruction.name[:10] != "v_div_fmas" else VCC
    return frozenset((first, first + 1)) - {EXEC, EXEC + 1}


_IDLE_AT_BRANCH = {
    "scc0": ("sa_sdst",),
    "scc1": ("sa_sdst",),
    "vccz": ("sa_sdst", "va_vcc"),
    "vccnz": ("sa_sdst", "va_vcc"),
}


def _idle(step: Step, kind: str) -> frozenset[str]:
    """Return the pipelines that are empty when an instruction is issued."""
    name, text = step.instruction.name, step.instruction.text
    if name in ("s_waitcnt_depctr", "s_wait_alu"):
        if match := re.search(r" (0x[0-9a-f]+|\d+)$", text):
            bits = int(match[1], 0)
            fields = {"va_vdst": (12, 15), "va_sdst": (9, 7), "vm_vsrc": (2, 7), "va_vcc": (1, 1)}
            found = {word for word, (shift, mask) in fields.items() if not bits >> shift & mask}
            return frozenset(found | ({"sa_sdst"} if not bits & 1 else set()))
        return frozenset(re.findall(r"depctr_(\w+)\(0\)", text))
    if kind == "vmem":
        return frozenset(("va_vdst", "sa_sdst", "va_sdst", "va_vcc"))
    if kind == "lds":
        return frozenset(("va_vdst",))
    if kind == "smem":
        return frozenset(("sa_sdst", "va_sdst", "va_vcc"))
    if kind == "valu":
        return frozenset(("sa_sdst",)) if any(r < VECTORS for r in step.writes) else frozenset()
    if kind == "branch":
        return frozenset(_IDLE_AT_BRANCH.get(name.rpartition("_")[2], ()))
    if kind == "salu":
        used = step.reads | step.writes
        found = {"va_sdst"} if any(r < VCC for r in used) else set()
        return frozenset(found | ({"va_vcc"} if used & {VCC, VCC + 1} else set()))
    return frozenset()
