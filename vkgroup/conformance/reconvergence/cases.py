"""Cases of reconvergence in compute shaders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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

GROUPS = len(LOCAL_SIZES)
"""Groups of the programs of one depth; each has its own workgroup shape."""


@dataclass(frozen=True, slots=True)
class RandomCase:
    """One random program.

    Attributes
    ----------
    kind : a key of `KINDS`.
    nesting : most constructs inside each other.
    group : number of the group, which selects the shape of the workgroup.
    number : of the program in its group.
    """

    kind: str
    nesting: int
    group: int
    number: int

    @property
    def category(self) -> str:
        """First part of the name."""
        return "reconvergence"

    @property
    def name(self) -> str:
        """Name of the case in the Vulkan CTS, without its prefix."""
        return f"reconvergence.{self.kind}.compute.nesting{self.nesting}.{self.group}.{self.number}"

    @property
    def sentence(self) -> str:
        """Requirement that the case tests."""
        shape = " × ".join(map(str, LOCAL_SIZES[self.group]))
        return (
            f"In random program {self.number} with constructs nested up to {self.nesting} deep, in "
            f"workgroups of {shape}, {KINDS[self.kind].sentence}."
        )

    @property
    def promise(self) -> Promise:
        """Reconvergence guarantee that the program relies on."""
        return KINDS[self.kind].promise

    @property
    def elect(self) -> bool:
        """Whether elections are recorded."""
        return KINDS[self.kind].elect

    @property
    def ballots(self) -> bool:
        """Whether the program needs ballots."""
        return not self.elect

    @property
    def local_size(self) -> tuple[int, int, int]:
        """Shape of the workgroups."""
        return LOCAL_SIZES[self.group]

    @property
    def full_subgroups(self) -> bool:
        """Whether the pipeline requires full subgroups."""
        return False

    def program(self, seed: int) -> Program:
        """Return the program for a run's seed."""
        profile = Observations(self.promise, self.elect, self.nesting, self.local_size)
        return generate(crc32(f"{self.name} {seed}".encode()), profile)


_SHAPES = {"large": (128, 2, 1), "small": (128, 1, 1)}
_RELYING_ON = {
    Promise.MAXIMAL: "by maximal reconvergence",
    Promise.SUBGROUP: "by uniform control flow of subgroups",
    Promise.WORKGROUP: "by uniform control flow of workgroups",
}
_OBSERVED = {"elect": "elections", "ballot": "ballots"}


@dataclass(frozen=True, slots=True)
class ConstructCase:
    """One construct of `CONSTRUCTS`, under one promise.

    Attributes
    ----------
    promise : reconvergence guarantee that it relies on.
    shape : ``"large"`` (workgroups of 256) or ``"small"`` (of 128).
    full_subgroups : whether the pipeline requires full subgroups.
    construct : a key of `CONSTRUCTS`.
    observed : ``"elect"`` or ``"ballot"``.
    """

    promise: Promise
    shape: str
    full_subgroups: bool
    construct: str
    observed: str

    @property
    def category(self) -> str:
        """First part of the name."""
        return "reconvergence"

    @property
    def name(self) -> str:
        """``reconvergence.PROMISE_uniform.SHAPE_full[_control].reconvergeNN.OBSERVED``."""
        control = "_control" if self.full_subgroups else ""
        kind = "maximal" if self.promise is Promise.MAXIMAL else f"{self.promise.value}_uniform"
        return f"reconvergence.{kind}.{self.shape}_full{control}.{self.construct}.{self.observed}"

    @property
    def sentence(self) -> str:
        """Requirement that the case tests."""
        shape = " × ".join(map(str, _SHAPES[self.shape][:2]))
        full = " of full subgroups" if self.full_subgroups else ""
        promise, observed = _RELYING_ON[self.promise], _OBSERVED[self.observed]
        sentence = CONSTRUCTS[self.construct].sentence
        return f"{sentence}, {promise}, in workgroups of {shape}{full}, recorded with {observed}."

    @property
    def elect(self) -> bool:
        """Whether elections are recorded."""
        return self.observed == "elect"

    @property
    def ballots(self) -> bool:
        """Whether the program needs ballots."""
        return not self.elect or CONSTRUCTS[self.construct].votes

    @property
    def local_size(self) -> tuple[int, int, int]:
        """Shape of the workgroups."""
        return _SHAPES[self.shape]

    def program(self, seed: int) -> Program:
        """Return the program for a run's seed."""
        salt = crc32(f"{self.name} {seed}".encode())
        return build(self.construct, self.promise, elect=self.elect, local=self.local_size, seed=salt)


_MUST = {
    Promise.MAXIMAL: KINDS["maximal"].sentence,
    Promise.SUBGROUP: f"a subgroup {_UNIFORM_AGAIN}",
    Promise.WORKGROUP: f"a workgroup {_UNIFORM_AGAIN}",
}


@dataclass(frozen=True)
class ShrunkCase:
    """Case of a smaller program that fails like a case of the suite; it is not part of the suite.

    Attributes
    ----------
    of : the case of the suite.
    left : the smaller program.
    """

    of: RandomCase | ConstructCase
    left: Program

    @property
    def category(self) -> str:
        """First part of the name."""
        return self.of.category

    @property
    def name(self) -> str:
        """Name of the case of the suite, and ``.shrunk``."""
        return f"{self.of.name}.shrunk"

    @property
    def sentence(self) -> str:
        """Requirement that the case tests."""
        shape = " × ".join(map(str, self.local_size))
        requirement = _MUST[self.promise]
        return f"In a part of the program of {self.of.name}, in workgroups of {shape}, {requirement}."

    @property
    def promise(self) -> Promise:
        """Reconvergence guarantee that the program relies on."""
        return self.left.promise

    @property
    def elect(self) -> bool:
        """Whether elections are recorded."""
        return self.left.elect

    @property
    def ballots(self) -> bool:
        """Whether the program needs ballots."""
        return self.of.ballots

    @property
    def local_size(self) -> tuple[int, int, int]:
        """Shape of the workgroups."""
        return self.left.local_size

    @property
    def full_subgroups(self) -> bool:
        """Whether the pipeline requires full subgroups."""
        return self.of.full_subgroups

    def program(self, seed: int) -> Program:
        """Return the program; it does not depend on the seed."""
        return self.left


ReconvergenceCase = RandomCase | ConstructCase | ShrunkCase


def all_cases() -> Iterator[ReconvergenceCase]:
    """Yield every case: the random programs kind by kind, then the constructs."""
    for kind, description in KINDS.items():
        for nesting, programs in description.programs.items():
            for group in range(GROUPS):
                yield from (RandomCase(kind, nesting, group, number) for number in range(programs))
    for promise in Promise:
        for control in (False, True):
            for shape in _SHAPES:
                for construct in CONSTRUCTS:
                    for observed in _OBSERVED:
                        yield ConstructCase(promise, shape, control, construct, observed)
