"""Latency and throughput of a subgroup function, and of the same exchange through shared memory.

On a GPU, functions of one type and kind share a shader, which is compiled when the first one is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.bench import definition, micro_cases, micro_shared
from vkgroup.bench.definition import Arrays, Data, PreparedCandidate
from vkgroup.bench.micro_cases import MicroCase, all_cases
from vkgroup.bench.micro_clock import (
    PreparedProgram,
    TimedProgram,
    clock_name,
    has_clock,
    unit,
)
from vkgroup.bench.micro_shader import KINDS, ChainShape, MicroEntry, source
from vkgroup.dispatch import Device, Pipeline
from vkgroup.kernels.pipelines import full_subgroups, required_size, subgroup_size
from vkgroup.programs.glsl_types import from_planes, planes
from vkgroup.reference.semantics.lanes import Lanes

_MOST_SUBGROUPS = 32
"""Number of subgroups of the workgroup that measures throughput, if the device's limits allow it."""

_STEPPED_ROUNDS = 2
_FEED_TIMES = 5


@dataclass(frozen=True)
class ChainOptions:
    """Tuning values of a chain; `together`: similar functions share a shader."""

    shape: ChainShape = field(default_factory=ChainShape)
    subgroups: int = _MOST_SUBGROUPS
    samples: int = 8
    together: bool = True

    @classmethod
    def of(cls, device: Device, tuning: Mapping[str, Any]) -> ChainOptions:
        """Return the options for a device; `tuning` sets attributes of this class and of `ChainShape`.

        A CPU driver runs the subgroups of a workgroup in sequence and needs milliseconds to compile each
        call. On such a device, loops are unrolled less, and each function has its own shader.
        """
        small = not device.capabilities.is_gpu
        shape = {"unroll": 2, "chains": 2, "throughput_unroll": 2} if small else {}
        shape |= {name: tuning[name] for name in ChainShape.__dataclass_fields__ if name in tuning}
        if shape.get("unroll", 2) % 2 or shape.get("throughput_unroll", 2) % 2:
            raise InvalidDispatch(
                "unroll and throughput_unroll must be even; see vkgroup.bench.micro_shader."
            )
        most = tuning.get("subgroups", 4 if small else _MOST_SUBGROUPS)
        return cls(ChainShape(**shape), most, tuning.get("samples", 4 if small else 8), not small)


@dataclass(frozen=True, eq=False)
class SeededData(Data):
    """Data that is recomputed from its seed, since a shader has the operands of many functions."""

    seed: int = 0


@dataclass(frozen=True)
class MicroBatch:
    """Functions of one type that share a shader."""

    entries: tuple[MicroEntry, ...]
    words: NDArray[np.uint32]
    operands: Mapping[str, NDArray[Any]]

    def index(self, case: MicroCase, kind: str) -> int:
        """Return the index of an entry in the shader."""
        return [(entry.case.name, entry.kind) for entry in self.entries].index((case.name, kind))


def _requirements(case: MicroCase) -> tuple[object, ...]:
    """Return the requirements of a case; a device supports all cases with equal requirements, or none."""
    operation = case.operation
    name = operation.name if "Rotate" in operation.name else ""
    return operation.category, operation.group_operation, name, case.type.scalar


def _similar_cases(case: MicroCase, size: int) -> list[MicroCase]:
    """Return the cases of the same type with equal requirements, including the case itself."""
    components = case.type.components if len(case.operation.types) > 1 else 1
    similar = (
        other.with_components(components)
        for other in all_cases()
        if _requirements(other) == _requirements(case) and other.least_size <= size
    )
    return [other for other in similar if other.type == case.type]


def make_batch(case: MicroCase, size: int, options: ChainOptions, seed: int) -> MicroBatch:
    """Return the batch of a case at a subgroup size, with operands made from a seed."""
    generator = np.random.default_rng(seed)
    entries: list[MicroEntry] = []
    words: list[NDArray[np.uint32]] = []
    operands = {}
    for member in _similar_cases(case, size) if options.together else [case]:
        offset = sum(map(len, words))
        operands[member.name] = micro_cases.operands(member, size, options.shape.chains, generator)
        words.append(micro_cases.input_words(member, operands[member.name]))
        kinds = [kind for kind in KINDS if kind != "shared" or micro_shared.has_alternative(member)]
        entries += [MicroEntry(member, kind, offset) for kind in kinds]
    return MicroBatch(tuple(entries), np.concatenate(words), operands)


_PIPELINES: WeakKeyDictionary[Device, dict[Any, Pipeline]] = WeakKeyDictionary()


def _pipeline(
    device: Device, batch: MicroBatch, size: int, shape: ChainShape, workgroup: int, many: bool
) -> Pipeline:
    """Return the pipeline of a batch, created once per device."""
    text = source(batch.entries, size, shape, clock=has_clock(device.capabilities))
    cache = _PIPELINES.setdefault(device, {})
    key = text, workgroup, many
    if key not in cache or cache[key].closed:
        cache[key] = device.pipeline(
            device.compile(text),
            specialization={"WORKGROUP": workgroup, "THROUGHPUT": many},
            subgroup_size=required_size(device),
            full_subgroups=full_subgroups(device),
        )
    return cache[key]


class MicroChain:
    """Chains of a function, or of its alternative through shared memory (``"subgroup"``, ``"shared"``).

    `many`: whether to measure throughput (several chains in many subgroups) instead of latency (one chain in
    one subgroup).
    `steps`: number of steps of the chain, or approximately of each of several chains.
    """

    def __init__(
        self, device: Device, case: MicroCase, kind: str, many: bool, steps: int, options: ChainOptions
    ) -> None:
        self._device, self._case, self._kind, self._many = device, case, kind, many
        self._steps, self._options = steps, options
        self.clock = clock_name(device)

    def prepare(self, data: Data) -> PreparedCandidate:
        """Compile the batch and prepare the program of the case."""
        assert isinstance(data, SeededData), "the data of this case"
        prepared = PreparedProgram(self._device, self._program(self._kind, data.seed), _STEPPED_ROUNDS)
        if not self._many:
            feed = PreparedProgram(self._device, self._program("feed", data.seed))
            prepared.subtract(min(feed.time() for _ in range(_FEED_TIMES)))
            feed.close()
        return prepared

    def _program(self, kind: str, seed: int) -> TimedProgram:
        size, shape = subgroup_size(self._device), self._options.shape
        batch = make_batch(self._case, size, self._options, seed)
        workgroup = workgroup_of(self._device, self._case, self._options.subgroups) if self._many else size
        groups = workgroup // size
        unroll = shape.throughput_unroll if self._many else shape.unroll
        chains = shape.chains if self._many else 1
        return TimedProgram(
            _pipeline(self._device, batch, size, shape, workgroup, self._many),
            batch.words,
            chains * planes(self._case.result) * workgroup,
            groups,
            unroll * chains * groups,
            batch.index(self._case, kind),
            max(self._steps // unroll, 1),
            self._options.samples,
        )


def workgroup_of(device: Device, case: MicroCase, most: int) -> int:
    """Return the invocations of a workgroup for throughput: full subgroups, at most `most` of them."""
    size, limits = subgroup_size(device), device.capabilities.limits
    # Shared memory of exchanges of the type, and of ballots (three ballots of four words per subgroup).
    each = micro_shared.bytes_an_invocation(case.type) * size + 3 * 4 * 4
    room = int(limits["maxComputeSharedMemorySize"]) // each
    fitting = min(int(limits["maxComputeWorkGroupInvocations"]), int(limits["maxComputeWorkGroupSize"][0]))
    return size * max(min(most, room, fitting // size), 1)


def _problem(
    case: MicroCase, words: NDArray[np.uint32], chains: int, size: int, expected: Lanes
) -> str | None:
    """Return the first error in the results of all subgroups, or None."""
    result = case.result
    by_plane = words.reshape(chains, planes(result), -1).transpose(1, 0, 2)
    values, valid = from_planes(np.ascontiguousarray(by_plane).reshape(planes(result), -1), result)
    # (subgroups, chains, size, components); all subgroups have the same operands.
    shape = (chains, -1, size, result.components)
    results, valid = (np.ascontiguousarray(a.reshape(shape).swapaxes(0, 1)) for a in (values, valid))
    bad = micro_cases.wrong_mask(
        case, results, valid, Lanes(expected.value[:chains], expected.defined[:chains])
    )
    if not bad.any():
        return None
    at = tuple(int(indices[0]) for indices in np.nonzero(bad))
    location = f"subgroup {at[0]}, chain {at[1]}, lane {at[2]}"
    count = int(bad.sum())
    return (
        f"{location} is {results[at]} instead of {expected.value[at[1:]]} ({count} of {bad.size} are wrong)"
    )


def _verifier(case: MicroCase, size: int, options: ChainOptions, seed: int, many: bool) -> Any:
    """Return the function that verifies the outputs of a chain, for `Data.verify`."""
    shape = options.shape
    chains = shape.chains if many else 1
    operands = make_batch(case, size, options, seed).operands[case.name]
    expected = micro_cases.applied(case, operands)
    stepped = None
    if micro_cases.can_step(case):
        steps = _STEPPED_ROUNDS * (shape.throughput_unroll if many else shape.unroll)
        stepped = micro_cases.stepped(case, operands, steps)

    def verify(outputs: Arrays) -> str | None:
        problem = _problem(case, outputs["results"], chains, size, expected)
        if problem is None and stepped is not None:
            problem = _problem(case, outputs["stepped"], chains, size, stepped)
            return None if problem is None else f"after {steps} steps of other operands, {problem}"
        return problem

    return verify


def make_case(
    device: Device, case: MicroCase, many: bool, steps: int, tuning: Mapping[str, Any]
) -> definition.BenchmarkCase:
    """Return the benchmark of a function on a device; raise `Unsupported` if its subgroups are too small.

    `many`, `steps`: see `MicroChain`.
    `tuning`: ``"components"`` of the case's type, and attributes of `ChainOptions` and `ChainShape`.
    """
    case = case.with_components(tuning.get("components", case.type.components))
    size, options = subgroup_size(device), ChainOptions.of(device, tuning)
    if size < case.least_size:
        raise Unsupported(
            f"{case.name} needs subgroups of at least {case.least_size} lanes; {device.name} has {size}.",
            [f"a subgroup size of at least {case.least_size} (it is {size})"],
        )

    def candidate(kind: str) -> Any:
        return lambda: MicroChain(device, case, kind, many, steps, options)

    def data(generator: np.random.Generator) -> Data:
        seed = int(generator.integers(1 << 31))
        return SeededData({}, verify=_verifier(case, size, options, seed, many), seed=seed)

    kinds = ["subgroup"] + ["shared"] * micro_shared.has_alternative(case)
    return definition.BenchmarkCase(
        variants={kind: candidate(kind) for kind in kinds},
        data=data,
        bytes=0,
        items=1,
        operations=1,
        rate="operations",
        needs={},
        unit=unit(device),
    )
