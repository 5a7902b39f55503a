"""Reconvergence in compute shaders: cases, their family, and the execution of their programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from types import MappingProxyType
from typing import Any
from zlib import crc32

import numpy as np

from vkgroup.conformance.arrays import Words, poisoned
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family
from vkgroup.conformance.reconvergence.comparison import expect, layout_of, verdict_on_log
from vkgroup.conformance.reconvergence.constructs import CONSTRUCTS, build
from vkgroup.conformance.reconvergence.shader import CONSTANTS, HEADS, inputs_of, render, words_of
from vkgroup.conformance.reconvergence.waterfalls import WATERFALLS
from vkgroup.conformance.support import lacking_operations, lacking_stages
from vkgroup.device import Capabilities
from vkgroup.programs.generator import generate
from vkgroup.programs.invocation_sets import linear
from vkgroup.programs.nodes import Promise, RandomProgram
from vkgroup.programs.observations import LOCAL_SIZES, Observations
from vkgroup.record.record import Status


@dataclass(frozen=True)
class ProgramKind:
    """Kind of random programs."""

    promise: Promise  # reconvergence guarantee that they rely on
    elect: bool  # whether they record elections
    programs: dict[int, int]  # nesting depth → number of programs in each group
    sentence: str  # requirement that completes "In random program 1 … "


_UNIFORM = {2: 50, 3: 50, 4: 50}
_UNIFORM_AGAIN = "that enters a construct uniformly and leaves it by its merge block is uniform again"

KINDS = {
    "maximal": ProgramKind(
        Promise.MAXIMAL, False, {**_UNIFORM, 5: 20, 6: 10},
        "invocations reconverge as early as the structure of the program allows",
    ),
    "subgroup_uniform_control_flow_ballot": ProgramKind(
        Promise.SUBGROUP, False, _UNIFORM, f"a subgroup {_UNIFORM_AGAIN}, recorded with ballots"
    ),
    "subgroup_uniform_control_flow_elect": ProgramKind(
        Promise.SUBGROUP, True, _UNIFORM, f"a subgroup {_UNIFORM_AGAIN}, recorded with elections"
    ),
    "workgroup_uniform_control_flow_ballot": ProgramKind(
        Promise.WORKGROUP, False, _UNIFORM, f"a workgroup {_UNIFORM_AGAIN}, recorded with ballots"
    ),
    "workgroup_uniform_control_flow_elect": ProgramKind(
        Promise.WORKGROUP, True, _UNIFORM, f"a workgroup {_UNIFORM_AGAIN}, recorded with elections"
    ),
}  # fmt: skip
"""The kinds by name: those of the Vulkan CTS, with as many programs of each depth."""

_SHAPES: dict[str, tuple[int, int, int]] = {"large": (128, 2, 1), "small": (128, 1, 1)}
_RELYING_ON = {
    Promise.MAXIMAL: "by maximal reconvergence",
    Promise.SUBGROUP: "by uniform control flow of subgroups",
    Promise.WORKGROUP: "by uniform control flow of workgroups",
}
_OBSERVED = {"elect": "elections", "ballot": "ballots"}


@dataclass(frozen=True, slots=True)
class ReconvergenceCase:
    """A random program, or a construct of `CONSTRUCTS`."""

    #: Of random programs the name in the Vulkan CTS, without its prefix; of constructs
    #: ``reconvergence.PROMISE_uniform.SHAPE_full[_control].reconvergeNN.OBSERVED``.
    name: str
    sentence: str = field(compare=False)  # requirement that the case tests
    promise: Promise = field(compare=False)  # reconvergence guarantee that the program relies on
    elect: bool = field(compare=False)  # whether elections are recorded instead of ballots
    ballots: bool = field(compare=False)  # whether the program needs ballots
    local_size: tuple[int, int, int] = field(compare=False)  # shape of the workgroups
    full_subgroups: bool = field(default=False, compare=False)  # whether the pipeline requires full subgroups
    #: Maximum nesting depth of a random program; 0 for a construct.
    nesting: int = field(default=0, compare=False)
    #: A key of `CONSTRUCTS` or `WATERFALLS`; empty for a random program.
    construct: str = field(default="", compare=False)
    #: `of`, `left`: set for a smaller program that fails like a case of the suite: the case, and the
    #: program.
    of: ReconvergenceCase | None = None
    left: RandomProgram | None = None

    @property
    def category(self) -> str:
        """First part of the name."""
        return self.name.partition(".")[0]

    def program(self, seed: int) -> RandomProgram:
        """Return the program for a run's seed; a smaller program does not depend on it."""
        if self.left is not None:
            return self.left
        salt = crc32(f"{self.name} {seed}".encode())
        if self.construct:
            made = CONSTRUCTS.get(self.construct) or WATERFALLS[self.construct]
            return build(made, self.promise, elect=self.elect, local=self.local_size, seed=salt)
        return generate(salt, Observations(self.promise, self.elect, self.nesting, self.local_size))

    def shrunk(self, left: RandomProgram) -> ReconvergenceCase:
        """Return the case of a smaller program that fails like this case."""
        shape = " × ".join(map(str, left.local_size))
        part = f"In a part of the program of {self.name}, in workgroups of {shape}"
        return replace(
            self,
            name=f"{self.name}.shrunk",
            sentence=f"{part}, {_MUST[left.promise]}.",
            promise=left.promise,
            elect=left.elect,
            local_size=left.local_size,
            of=self,
            left=left,
        )


_MUST = {
    Promise.MAXIMAL: KINDS["maximal"].sentence,
    Promise.SUBGROUP: f"a subgroup {_UNIFORM_AGAIN}",
    Promise.WORKGROUP: f"a workgroup {_UNIFORM_AGAIN}",
}


def _random_case(name: str, nesting: int, group: int, number: int) -> ReconvergenceCase:
    """Return the case of a random program of a group, which has one shape of workgroups."""
    kind, local_size = KINDS[name], LOCAL_SIZES[group]
    sentence = (
        f"In random program {number} with constructs nested up to {nesting} deep, in "
        f"workgroups of {' × '.join(map(str, local_size))}, {kind.sentence}."
    )
    return ReconvergenceCase(
        f"reconvergence.{name}.compute.nesting{nesting}.{group}.{number}",
        sentence,
        kind.promise,
        kind.elect,
        not kind.elect,
        local_size,
        nesting=nesting,
    )


def _construct_case(
    promise: Promise, full_subgroups: bool, shape: str, construct: str, observed: str
) -> ReconvergenceCase:
    prefix = "maximal" if promise is Promise.MAXIMAL else f"{promise.value}_uniform"
    control = "_control" if full_subgroups else ""
    size = " × ".join(map(str, _SHAPES[shape][:2])) + (" of full subgroups" if full_subgroups else "")
    description = CONSTRUCTS[construct]
    elect = observed == "elect"
    return ReconvergenceCase(
        f"reconvergence.{prefix}.{shape}_full{control}.{construct}.{observed}",
        f"{description.sentence}, {_RELYING_ON[promise]}, in workgroups of {size}, "
        f"recorded with {_OBSERVED[observed]}.",
        promise,
        elect,
        not elect or description.votes,
        _SHAPES[shape],
        full_subgroups,
        construct=construct,
    )


def all_cases() -> Iterator[ReconvergenceCase]:
    """Yield every case: the random programs kind by kind, the constructs, then the waterfall loops."""
    for kind, description in KINDS.items():
        for nesting, programs in description.programs.items():
            for group in range(len(LOCAL_SIZES)):
                yield from (_random_case(kind, nesting, group, number) for number in range(programs))
    for axes in product(Promise, (False, True), _SHAPES, CONSTRUCTS, _OBSERVED):
        yield _construct_case(*axes)
    yield from waterfall_cases("reconvergence")


def waterfall_cases(category: str) -> Iterator[ReconvergenceCase]:
    """Yield the cases of waterfall loops, which the families in other languages have, too."""
    for name, waterfall in WATERFALLS.items():
        yield ReconvergenceCase(
            f"{category}.maximal.compute.waterfall.{name}",
            f"{waterfall.sentence}, {_RELYING_ON[Promise.MAXIMAL]}.",
            Promise.MAXIMAL,
            False,
            True,
            _SHAPES["small"],
            construct=name,
        )


BATCH = 8
"""Programs in a batch; each is a separate shader."""

FEATURES = {
    Promise.MAXIMAL: "shaderMaximalReconvergence",
    Promise.SUBGROUP: "shaderSubgroupUniformControlFlow",
}
"""Feature of each guarantee; the weakest needs none."""


def _missing(case: ReconvergenceCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements that the device lacks."""
    needs = lacking_stages(("compute",), capabilities)
    feature = FEATURES.get(case.promise)
    if feature is not None and feature not in capabilities.features:
        needs.append(feature)
    needs += lacking_operations(("basic", "ballot") if case.ballots else ("basic",), capabilities)
    x, y, z = case.local_size
    if x * y * z > int(capabilities.limits["maxComputeWorkGroupInvocations"]):
        needs.append(f"maxComputeWorkGroupInvocations of at least {x * y * z}")
    if case.full_subgroups and not capabilities.size_control.compute_full_subgroups:
        needs.append("computeFullSubgroups")
    return needs


def _judge(executor: Executor, cases: list[ReconvergenceCase]) -> list[Verdict]:
    """Run and compare one program after the other; return the verdicts."""
    return [
        run(executor, case.program(executor.seed), case.name, full_subgroups=case.full_subgroups)
        for case in cases
    ]


def run(
    executor: Executor,
    program: RandomProgram,
    title: str,
    *,
    full_subgroups: bool = False,
    translate: Callable[[str, RandomProgram], str] = lambda source, program: source,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Verdict:
    """Run a program, with `title` at the top of its source; return the verdict on its records.

    `translate`, `options`: make the source of the GLSL, and are given to `Executor.compile`.
    """
    size, inputs, capacity = executor.capabilities.subgroup.size, inputs_of(program), 0
    layout = linear(size, program.local_invocations, inputs[CONSTANTS:])
    expected = expect(program, layout)
    while True:
        capacity = max(capacity, expected.longest)
        heads, log = _dispatch(
            executor,
            program,
            translate(render(program, size=size, capacity=capacity, title=title), program),
            inputs,
            (capacity + 1) * words_of(program, size),
            full_subgroups,
            options,
        )
        recorded = layout_of(program, heads, size)
        if isinstance(recorded, str):
            return Verdict(Status.FAIL, 0, 0, recorded)
        same_subgroups = recorded.per_workgroup == layout.per_workgroup
        if not (same_subgroups and (recorded.position == layout.position).all()):
            layout, expected = recorded, expect(program, recorded)
        if expected.longest <= capacity:
            words = words_of(program, size)
            return verdict_on_log(program, expected, heads, log.reshape(-1, words, program.invocations))


def _dispatch(
    executor: Executor,
    program: RandomProgram,
    source: str,
    inputs: Words,
    log_planes: int,
    full_subgroups: bool,
    options: Mapping[str, Any],
) -> tuple[Words, Words]:
    """Return the heads, (heads, invocations), and the log."""
    n, spare = program.invocations, 2
    module = executor.compile(source, stage="compute", **options)
    blank = poisoned(len(HEADS), n)
    log_words = log_planes * n
    contents = {
        "inputs": (0, inputs.nbytes),
        "outputs": (1, blank.nbytes),
        "reconvergence log": (2, log_words * 4),
        "reconvergence scratch": (3, (n + spare) * 4),
    }
    # All buffers but the scratch memory, which is used by atomics, are written once and read once.
    buffers = {
        binding: executor.buffer(name, nbytes, host=binding < len(contents) - 1)
        for name, (binding, nbytes) in contents.items()
    }
    # Some compilers leave out a buffer that a program does not use.
    declared = {binding.place[1] for binding in module.reflection.bindings}
    used: dict[Any, Any] = {binding: buffer for binding, buffer in buffers.items() if binding in declared}
    buffers[0].write(inputs)
    buffers[1].write(blank)
    buffers[2].write(poisoned(log_words))
    with (
        executor.device.pipeline(module, full_subgroups=full_subgroups) as pipeline,
        pipeline.bind(used) as bound,
    ):
        bound.dispatch((program.groups, 1, 1), timeout=executor.timeout)
    heads = buffers[1].read(np.uint32, blank.size).reshape(blank.shape)
    return heads, buffers[2].read(np.uint32, log_words)


# Kinds of programs are separate, so that a crash in one does not affect the others.
RECONVERGENCE = Family(
    "reconvergence",
    all_cases,
    _missing,
    _judge,
    lambda case: (case.promise, case.elect),
    BATCH,
)
"""Random programs and single constructs, compared with a simulation of the specifications' rules."""
