"""Modules that executing fuzzing mutates: shaders of the repository, conformance cases, random programs.

All are small. Each has its inputs: what `vkgroup check` generates for it.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from campaigns.random_programs.shader import render
from campaigns.random_programs.vocabularies import of_device
from fuzz_corpora import ROOT

from vkgroup.base.errors import VkgroupError
from vkgroup.check import CheckRequest
from vkgroup.check.checking import prepare
from vkgroup.check.inputs import DispatchInputs
from vkgroup.compiler import TargetEnvironment, compile_file, compile_source
from vkgroup.compiler.optimizer import inline
from vkgroup.conformance.subgroup.cases import subgroup_cases
from vkgroup.conformance.subgroup.shader import build
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.dispatch.stages import pack_specialization
from vkgroup.programs.generator import generate
from vkgroup.programs.nodes import Promise
from vkgroup.programs.values import Values
from vkgroup.spirv import Module

TARGET = TargetEnvironment.VULKAN_1_2
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
_ENDLESS = "endless_loop.comp"
"""A shader of the folders that must not be executed."""

_MOST_WORDS = 1_800
_MOST_INVOCATIONS = 512
_MOST_BYTES = 1 << 18
_PREPARE_SECONDS = 60.0


@dataclass(frozen=True)
class Base:
    """A module with everything that a dispatch needs."""

    name: str
    module: Module
    groups: tuple[int, int, int]
    inputs: DispatchInputs
    specialization: dict[int, Any]  # values by id


Sources = list[tuple[str, Callable[[], Module]]]
"""Names of modules, each with the function that compiles it."""


def corpus() -> list[Base]:
    """Return all modules, always the same ones."""
    bases = []
    for name, compiled in (*_files(), *_cases(), *_programs()):
        with contextlib.suppress(VkgroupError):
            base = base_of(name, compiled())
            bases += [] if base is None else [base]
    return bases


def _files() -> Sources:
    files = [file for folder in _FOLDERS for file in sorted((ROOT / folder).rglob("*.comp"))]
    return [
        (file.relative_to(ROOT).as_posix(), partial(compile_file, file, target=TARGET))
        for file in files
        if file.name != _ENDLESS
    ]


def _compiled(source: str) -> Module:
    return inline(compile_source(source, stage="compute", target=TARGET))


def _cases() -> Sources:
    cases = [case for case in subgroup_cases() if case.stage == "compute" and not case.subgroup_size]
    simple = [
        case for case in cases if case.category in _EVERYWHERE and case.glsl_type.scalar.bits in (1, 32)
    ]
    rng = random.Random(0)
    chosen = (*rng.sample(simple, CASES), *rng.sample(cases, OTHER_CASES))
    return [
        (case.name, lambda case=case: _compiled(build([case], size=SIZE, seed=0, ballot=False).source))
        for case in chosen
    ]


def _programs() -> Sources:
    vocabulary = of_device(capabilities_of(SIZE), subgroup_size=SIZE, undefined=True)
    profile = Values(vocabulary, Promise.WORKGROUP, STATEMENTS, ((32, 1, 1),))
    return [
        (f"random program {seed}", lambda seed=seed: _compiled(render(generate(seed, profile))))
        for seed in range(PROGRAMS)
    ]


def base_of(name: str, module: Module) -> Base | None:
    """Return a module with its inputs; None if it is large.

    Raises VkgroupError: it cannot run on the reference device.
    """
    if len(module.words) > _MOST_WORDS:
        return None
    prepared = prepare(CheckRequest(module, sizes=(SIZE,), timeout=_PREPARE_SECONDS))
    dispatch = prepared.trial.dispatch
    x, y, z = dispatch.program.local_size
    groups = dispatch.groups
    size = sum(array.nbytes for entry in dispatch.inputs.bindings for array in entry.arrays)
    if x * y * z * groups[0] * groups[1] * groups[2] > _MOST_INVOCATIONS or size > _MOST_BYTES:
        return None
    constants = module.reflection.specialization_constants
    values, _ = pack_specialization(constants, prepared.constants(prepared.trial))
    return Base(name, module, groups, dispatch.inputs, values)
