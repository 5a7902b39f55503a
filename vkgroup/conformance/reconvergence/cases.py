"""Cases of reconvergence in compute shaders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from zlib import crc32

from vkgroup.conformance.reconvergence.constructs import CONSTRUCTS, build
from vkgroup.programs.generator import generate
from vkgroup.programs.nodes import Program, Promise
from vkgroup.programs.observations import LOCAL_SIZES, Observations


@dataclass(frozen=True)
class Kind:
    """Kind of random programs.

    Attributes
    ----------
    promise : reconvergence guarantee that they rely on.
    elect : whether they record elections.
    programs : nesting depth → number of programs in each group.
    sentence : requirement that completes "In random program 1 … ".
    """

    promise: Promise
    elect: bool
    programs: dict[int, int]
    sentence: str


_UNIFORM = {2: 50, 3: 50, 4: 50}
_UNIFORM_AGAIN = "that enters a construct uniformly and leaves it by its merge block is uniform again"

KINDS = {
    "maximal": Kind(
        Promise.MAXIMAL, False, {**_UNIFORM, 5: 20, 6: 10},
        "invocations reconverge as early as the structure of the program allows",
    ),
    "subgroup_uniform_control_flow_ballot": Kind(
        Promise.SUBGROUP, False, _UNIFORM, f"a subgroup {_UNIFORM_AGAIN}, recorded with ballots"
    ),
    "subgroup_uniform_control_flow_elect": Kind(
        Promise.SUBGROUP, True, _UNIFORM, f"a subgroup {_UNIFORM_AGAIN}, recorded with elections"
    ),
    "workgroup_uniform_control_flow_ballot": Kind(
        Promise.WORKGROUP, False, _UNIFORM, f"a workgroup {_UNIFORM_AGAIN}, recorded with ballots"
    ),
    "workgroup_uniform_control_flow_elect": Kind(
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
    """A random program, or a construct of `CONSTRUCTS`.

    Attributes
    ----------
    name : of random programs the name in the Vulkan CTS, without its prefix; of constructs
        ``reconvergence.PROMISE_uniform.SHAPE_full[_control].reconvergeNN.OBSERVED``.
    sentence : requirement that the case tests.
    promise : reconvergence guarantee that the program relies on.
    elect : whether elections are recorded instead of ballots.
    ballots : whether the program needs ballots.
    local_size : shape of the workgroups.
    full_subgroups : whether the pipeline requires full subgroups.
    nesting : most constructs inside each other in a random program; 0 for a construct.
    construct : a key of `CONSTRUCTS`; empty for a random program.
    of, left : only for a smaller program that fails like a case of the suite: that case, and the program.
    """

    name: str
    sentence: str = field(compare=False)
    promise: Promise = field(compare=False)
    elect: bool = field(compare=False)
    ballots: bool = field(compare=False)
    local_size: tuple[int, int, int] = field(compare=False)
    full_subgroups: bool = field(default=False, compare=False)
    nesting: int = field(default=0, compare=False)
    construct: str = field(default="", compare=False)
    of: ReconvergenceCase | None = None
    left: Program | None = None

    @property
    def category(self) -> str:
        """First part of the name."""
        return "reconvergence"

    def program(self, seed: int) -> Program:
        """Return the program for a run's seed; a smaller program does not depend on it."""
        if self.left is not None:
            return self.left
        salt = crc32(f"{self.name} {seed}".encode())
        if self.construct:
            return build(self.construct, self.promise, elect=self.elect, local=self.local_size, seed=salt)
        return generate(salt, Observations(self.promise, self.elect, self.nesting, self.local_size))

    def shrunk(self, left: Program) -> ReconvergenceCase:
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
    """Yield every case: the random programs kind by kind, then the constructs."""
    for kind, description in KINDS.items():
        for nesting, programs in description.programs.items():
            for group in range(len(LOCAL_SIZES)):
                yield from (_random_case(kind, nesting, group, number) for number in range(programs))
    for axes in product(Promise, (False, True), _SHAPES, CONSTRUCTS, _OBSERVED):
        yield _construct_case(*axes)
