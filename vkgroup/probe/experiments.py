"""List of experiments: name, required capabilities and function of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from vkgroup.device import Capabilities
from vkgroup.probe import execution
from vkgroup.probe.addition import AdditionOrders, addition_orders, terms
from vkgroup.probe.branches import (
    READINGS,
    InactiveLanes,
    Reconvergence,
    inactive_lanes,
    reconvergence,
    start_values,
    taken_lanes,
)
from vkgroup.probe.floats import FLOAT16, FLOAT32, FLOAT64, FloatType, SpecialValues, inputs, special_values
from vkgroup.probe.layout import invocation_mapping
from vkgroup.probe.outcome import Observation
from vkgroup.probe.simt_step import simt_step
from vkgroup.probe.size import SubgroupSize, full_subgroups, met_size
from vkgroup.probe.subject import Subject
from vkgroup.spec.categories import Category


@dataclass(frozen=True)
class Experiment:
    """One experiment."""

    name: str  # key of its outcome in JSON
    title: str  # title in output for people
    observe: Callable[[Subject], Observation]  # function that runs it on a device
    needs_all: tuple[Category, ...] = ()  # required categories of subgroup operations
    #: Categories of which at least one is required; no condition if empty.
    needs_any: tuple[Category, ...] = ()
    features: tuple[str, ...] = ()  # required features, by Vulkan's names

    def missing(self, capabilities: Capabilities) -> tuple[str, ...]:
        """Return the capabilities that a device lacks for the experiment, by Vulkan's names."""
        declared = capabilities.subgroup
        lacking = [] if "compute" in declared.supported_stages else ["VK_SHADER_STAGE_COMPUTE_BIT"]
        operations = declared.supported_operations
        lacking += [
            category.feature
            for category in (Category.BASIC, *self.needs_all)
            if category.value not in operations
        ]
        if self.needs_any and not any(category.value in operations for category in self.needs_any):
            lacking += [category.feature for category in self.needs_any]
        lacking += [feature for feature in self.features if feature not in capabilities.features]
        return tuple(lacking)


def _subgroup_size(subject: Subject) -> SubgroupSize:
    return SubgroupSize(
        declared=subject.capabilities.subgroup.size,
        met=met_size(subject.layouts),
        required={size: met_size([layout]) for size, layout in subject.required_layouts.items()},
    )


_READING_CATEGORIES = {
    Category.SHUFFLE: "SHUFFLE",
    Category.SHUFFLE_RELATIVE: "RELATIVE",
    Category.BALLOT: "BALLOT",
    Category.QUAD: "QUAD",
}
"""Macro of ``inactive.comp`` by category of operations that read another lane's value."""


def _inactive_lanes(subject: Subject) -> InactiveLanes:
    size = subject.size
    categories = [category for category in _READING_CATEGORIES if subject.has(category.value)]
    if size < 4 and Category.QUAD in categories:
        categories.remove(Category.QUAD)
    got = subject.run_full_subgroups(
        subject.module("inactive", **{_READING_CATEGORIES[category]: 1 for category in categories}),
        1,
        {
            "Start": start_values(size),
            "Taken": taken_lanes(size),
            "Got": np.zeros((len(READINGS), 2, size), dtype=np.uint32),
            "Held": np.zeros(size, dtype=np.uint32),
        },
    )["Got"]
    return inactive_lanes(
        got.astype(np.uint32, copy=False),
        [category.value for category in categories],
        tuple(category.feature for category in _READING_CATEGORIES if not subject.has(category.value)),
    )


def _reconvergence(subject: Subject) -> Reconvergence:
    return reconvergence(execution.branch_masks(subject, [1]))


def _addition_orders(subject: Subject) -> AdditionOrders:
    rows = terms(subject.size)
    got = subject.run_full_subgroups(
        subject.module("addition"),
        len(rows),
        {"Term": rows, **{name: np.zeros_like(rows) for name in ("Reduced", "Inclusive", "Exclusive")}},
    )
    reduced, inclusive, exclusive = (
        got[name].astype(np.float32, copy=False) for name in ("Reduced", "Inclusive", "Exclusive")
    )
    return addition_orders(reduced, inclusive, exclusive)


def _special_values(subject: Subject, kind: FloatType) -> SpecialValues:
    bits = inputs(kind, subject.size)
    result = subject.run_full_subgroups(
        subject.module("floats", BITS=kind.scalar.bits),
        len(bits),
        {"Bits": bits, "Result": np.zeros((len(bits), 8, *bits.shape[1:]), dtype=np.uint32)},
    )["Result"]
    return special_values(kind, result.astype(np.uint32, copy=False))


EXPERIMENTS = (
    Experiment("subgroup_size", "Observed subgroup size", _subgroup_size),
    Experiment(
        "invocation_mapping", "Invocations to lanes", lambda subject: invocation_mapping(subject.layouts)
    ),
    Experiment("full_subgroups", "Full subgroups", lambda subject: full_subgroups(subject.layouts)),
    Experiment(
        "inactive_lanes", "Reading an inactive lane", _inactive_lanes, needs_any=tuple(_READING_CATEGORIES)
    ),
    Experiment("reconvergence", "Reconvergence", _reconvergence, needs_all=(Category.BALLOT,)),
    Experiment(
        "addition_order", "Order of float additions", _addition_orders, needs_all=(Category.ARITHMETIC,)
    ),
    *(
        Experiment(
            f"special_values_{kind.name}",
            f"Denormals, NaN: {kind.name}",
            partial(_special_values, kind=kind),
            needs_all=(Category.ARITHMETIC,),
            features=kind.scalar.subgroup_features,
        )
        for kind in (FLOAT32, FLOAT16, FLOAT64)
    ),
)
"""All experiments, in the order in which they run."""

EXECUTION = (
    Experiment("lockstep", "Lanes", execution.lockstep),
    Experiment("shuffle_order", "Shuffles", execution.shuffles, needs_all=(Category.SHUFFLE,)),
    Experiment("barrier_order", "Subgroup barriers", execution.barriers),
    Experiment("progress", "Sides of a branch", execution.progress),
    Experiment(
        "undeclared_reconvergence",
        "Reconvergence",
        execution.reconverging,
        needs_all=(Category.BALLOT,),
    ),
    Experiment("simt_step", "Models of SIMT-Step", simt_step, needs_all=(Category.BALLOT,)),
    Experiment("workgroups", "Workgroups", execution.workgroups),
)
"""Experiments on the execution model, which ``--execution`` adds."""
