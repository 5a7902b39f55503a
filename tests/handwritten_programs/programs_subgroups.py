"""Less common subgroup operations: rotation, clusters, partitions, barriers, sums in branches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from program import Array, Claim, Outcome, Program, exact, subgroups_of


def _value_inputs(output: str, count: int, *shape: int) -> Any:
    def inputs(rng: np.random.Generator) -> dict[str, Array]:
        return {
            "Values": rng.integers(-999, 999, count).astype(np.int32),
            output: np.zeros((count, *shape), np.int32),
            "Lanes": np.zeros((count, 2), np.uint32),
        }

    return inputs


def _correlations(outcome: Outcome) -> Iterator[Claim]:
    wanted = np.zeros(256, np.int64)
    for invocations, _ in subgroups_of(outcome.outputs["Lanes"], 128):
        values = outcome.inputs["Values"][invocations].astype(np.int64)
        wanted[invocations] = [values @ np.roll(values, -shift) for shift in range(len(values))]
    yield exact(outcome, "Correlations", wanted)


def _blocks(outcome: Outcome) -> Iterator[Claim]:
    """Below four lanes the cluster is larger than the subgroup, and nothing is defined."""
    wanted = np.zeros((256, 4), np.int64)
    for invocations, _ in subgroups_of(outcome.outputs["Lanes"], 128):
        for block in np.split(invocations, range(4, len(invocations), 4)):
            values = outcome.inputs["Values"][block]
            wanted[block] = values.sum(), values.min(), values.max(), np.bitwise_xor.reduce(values)
    yield exact(outcome, "Statistics", wanted, where=outcome.subgroup_size >= 4)


def _partition_inputs(rng: np.random.Generator) -> dict[str, Array]:
    blank = np.zeros(256, np.uint32)
    return {
        "Keys": rng.integers(0, 6, 256).astype(np.uint32),
        "Values": rng.integers(0, 2**32, 256).astype(np.uint32),
        "Sums": blank,
        "Ranks": blank,
        "Places": np.zeros((256, 2), np.uint32),
    }


def _partitions(outcome: Outcome) -> Iterator[Claim]:
    sums, ranks = np.zeros(256, np.uint32), np.zeros(256, np.uint32)
    for invocations, _ in subgroups_of(outcome.outputs["Places"], 64):
        for key in range(6):
            group = invocations[outcome.inputs["Keys"][invocations] == key]
            sums[group] = outcome.inputs["Values"][group].sum(dtype=np.uint32)
            ranks[group] = np.arange(len(group))
    yield exact(outcome, "Sums", sums)
    yield exact(outcome, "Ranks", ranks)


def _exchange_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {
        "Values": rng.integers(0, 2**32, 192).astype(np.uint32),
        "Results": np.zeros(192, np.uint32),
        "Lanes": np.zeros((192, 2), np.uint32),
    }


def _exchanged(outcome: Outcome) -> Iterator[Claim]:
    wanted = np.zeros(192, np.uint32)
    for invocations, _ in subgroups_of(outcome.outputs["Lanes"], 64):
        values = outcome.inputs["Values"][invocations]
        for _ in range(6):
            values = values + 3 * np.roll(values, -1)
        wanted[invocations] = values
    yield exact(outcome, "Results", wanted)


def _record_inputs(rng: np.random.Generator) -> dict[str, Array]:
    records = np.stack([rng.integers(0, 5, 512), rng.integers(0, 1000, 512)], axis=1)
    return {"Records": records.astype(np.uint32), "Totals": np.zeros(5, np.uint32)}


def _totals(outcome: Outcome) -> Iterator[Claim]:
    kind, value = outcome.inputs["Records"].astype(np.int64).T
    parts = value % 5
    terms = [value, 2 * value, parts * (parts - 1) // 2, np.where(value % 2, 1, value)]
    sums = [terms[k][np.minimum(kind, 3) == k].sum() for k in range(4)]
    yield exact(outcome, "Totals", [*sums, np.where(kind == 2, parts, 1).sum()])


PROGRAMS = (
    Program(
        "rotate_correlation",
        2,
        _value_inputs("Correlations", 256),
        _correlations,
        needs=("shaderSubgroupRotate",),
        full_subgroups=True,
        per_subgroup=True,
    ),
    Program(
        "clustered_blocks",
        2,
        _value_inputs("Statistics", 256, 4),
        _blocks,
        needs=("VK_SUBGROUP_FEATURE_CLUSTERED_BIT",),
        full_subgroups=True,
        per_subgroup=True,
    ),
    Program(
        "partition_sums",
        4,
        _partition_inputs,
        _partitions,
        needs=("VK_SUBGROUP_FEATURE_PARTITIONED_BIT_NV", "VK_NV_shader_subgroup_partitioned"),
        per_subgroup=True,
    ),
    Program("subgroup_exchange", 3, _exchange_inputs, _exchanged, push={"rounds": 6}, per_subgroup=True),
    Program("divergent_sums", 8, _record_inputs, _totals),
)
