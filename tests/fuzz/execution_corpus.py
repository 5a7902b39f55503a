"""Modules that executing fuzzing mutates: shaders of the repository, conformance cases, random programs.

All are small. Each has its inputs: what `vkgroup check` generates for it.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fuzz_corpora import ROOT

from vkgroup.check.host import Guarantees
from vkgroup.check.inputs import Inputs
from vkgroup.check.preparation import prepare
from vkgroup.compiler import Target, compile_file, compile_source
from vkgroup.compiler.optimizer import inline
from vkgroup.conformance.cases import subgroup_cases
from vkgroup.conformance.program import build
from vkgroup.errors import VkgroupError
from vkgroup.programs.campaign.shader import render
from vkgroup.programs.expressions import of_device
from vkgroup.programs.generator import generate
from vkgroup.programs.nodes import Promise
from vkgroup.programs.values import Values
from vkgroup.reference.device.capabilities import capabilities_of
from vkgroup.spirv import Module

TARGET = Target.VULKAN_1_2
"""Target of the modules; from SPIR-V 1.6 on, the subgroup size of a pipeline may vary by default."""

SIZE = 8
"""Subgroup size for which conformance cases and random programs are made."""

CASES, OTHER_CASES, PROGRAMS = 90, 30, 40
"""Number of conformance cases that both software drivers support, of any others, and of random programs."""

STATEMENTS = 4
"""Size of a random program."""

_FOLDERS = (
    *("shaders/tutorial", "shaders/probe", "shaders/findings", "kernels"),
    *("tests/check/right", "tests/handwritten_programs/shaders"),
)
_EVERYWHERE = ("vote", "ballot", "shuffle", "shuffle_relative", "arithmetic", "basic", "quad")
_MOST_WORDS = 1_800
_MOST_INVOCATIONS = 512
_MOST_BYTES = 1 << 18
_PREPARE_SECONDS = 5.0


@dataclass(frozen=True)
class Base:
    """A module with everything that a dispatch needs."""

    name: str
    module: Module
    groups: tuple[int, int, int]
    inputs: Inputs
    specialization: dict[int, Any]  # values by id


def corpus(most: int | None = None) -> list[Base]:
    """Return all modules, or about as many as `most` of every kind, always the same ones."""
    kinds = (list(_files()), list(_cases()), list(_programs()))
    return [
        base
        for modules in kinds
        for name, module in modules[:: 1 if most is None else max(1, len(modules) // most)][:most]
        if (base := _base(name, module)) is not None
    ]


def _files() -> Iterator[tuple[str, Module]]:
    for folder in _FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.comp")):
            with contextlib.suppress(VkgroupError):
                yield file.relative_to(ROOT).as_posix(), compile_file(file, target=TARGET)


def _cases() -> Iterator[tuple[str, Module]]:
    cases = [case for case in subgroup_cases() if case.stage == "compute" and not case.subgroup_size]
    simple = [
        case for case in cases if case.category in _EVERYWHERE and case.glsl_type.scalar.bits in (1, 32)
    ]
    rng = random.Random(0)
    for case in (*rng.sample(simple, CASES), *rng.sample(cases, OTHER_CASES)):
        with contextlib.suppress(VkgroupError):
            source = build([case], size=SIZE, seed=0, ballot=False).source
            yield case.name, inline(compile_source(source, stage="compute", target=TARGET))


def _programs() -> Iterator[tuple[str, Module]]:
    vocabulary = of_device(capabilities_of(SIZE), subgroup_size=SIZE, undefined=True)
    profile = Values(vocabulary, Promise.WORKGROUP, STATEMENTS, ((32, 1, 1),))
    for seed in range(PROGRAMS):
        with contextlib.suppress(VkgroupError):
            source = render(generate(seed, profile))
            yield f"random program {seed}", inline(compile_source(source, stage="compute", target=TARGET))


def _base(name: str, module: Module) -> Base | None:
    """Return a module with its inputs; None if it is large, or if it cannot run on the reference device."""
    if len(module.words) > _MOST_WORDS:
        return None
    try:
        prepared = prepare(
            module,
            None,
            groups=None,
            inputs=None,
            outputs=(),
            push=None,
            specialization={},
            seed=0,
            timeout=_PREPARE_SECONDS,
            step_limit=10_000,
            sizes=(SIZE,),
            host=Guarantees(),
        )
    except VkgroupError:
        return None
    dispatch = prepared.dispatch
    x, y, z = dispatch.program.local_size
    groups = dispatch.groups
    size = sum(array.nbytes for entry in dispatch.inputs.bindings for array in entry.arrays)
    if x * y * z * groups[0] * groups[1] * groups[2] > _MOST_INVOCATIONS or size > _MOST_BYTES:
        return None
    return Base(name, module, groups, dispatch.inputs, prepared.values)
