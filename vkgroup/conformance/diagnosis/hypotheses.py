"""The table of hypotheses: what a wrong device may compute instead of the required value.

A row has a name, a sentence about the device, and the change to the reference model. Adding a hypothesis is
adding a row. A change yields *variants*, each with the text that replaces ``{}`` in the sentence and its
prediction: the value of every lane (`Expected`), or for each lane whether the record agrees (`Flags`). It
yields nothing where the hypothesis does not apply to the case.

Rows with less freedom come first: of two hypotheses that explain a case equally well, the first one is named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vkgroup.conformance.diagnosis import wrong_operations, wrong_results
from vkgroup.conformance.diagnosis.observation import CaseObservation, Variants


@dataclass(frozen=True)
class Hypothesis:
    """One rule changed."""

    sentence: str  # about the device, without a full stop; ``{}`` is the variant
    change: Callable[[CaseObservation], Variants]
    costly: bool = False  # tested only if no other hypothesis explains the case

    @property
    def name(self) -> str:
        """The name of its function."""
        return self.change.__name__


HYPOTHESES = (
    Hypothesis("nothing is written: the output keeps its fill pattern", wrong_results.unwritten),
    Hypothesis("invocations end at a barrier, and record nothing after it", wrong_operations.stops),
    Hypothesis("memory is read as it was before the other lane's write", wrong_operations.stale_memory),
    Hypothesis("the result is zero", wrong_results.zero),
    Hypothesis("the result is {}", wrong_results.ones),
    Hypothesis("only component 0 is compared", wrong_results.first_component),
    Hypothesis("each lane returns its own value", wrong_results.own_value),
    Hypothesis("each lane returns the result of {}", wrong_results.result_of_another_lane),
    Hypothesis("each lane returns the value of {}", wrong_results.value_of_another_lane),
    Hypothesis("the inputs are treated as {} integers", wrong_results.other_sign),
    Hypothesis("NaN is handled by a comparison: {}", wrong_results.nan_by_comparison),
    Hypothesis("the result is NaN if any input is NaN", wrong_results.nan_propagated),
    Hypothesis("NaN among the inputs is ignored", wrong_results.nan_dropped),
    Hypothesis("denormal inputs and results are flushed to zero", wrong_results.flushed),
    Hypothesis("{} take part", wrong_operations.lanes),
    Hypothesis("the operator is {}", wrong_operations.another_operator),
    Hypothesis("{} is computed", wrong_operations.another_group),
    Hypothesis("the clusters have size {}", wrong_operations.another_cluster),
    Hypothesis("the partition has {}", wrong_operations.another_partition),
    Hypothesis("{} is computed", wrong_operations.another_operation),
    Hypothesis("the value is that of {}", wrong_operations.another_variable),
    Hypothesis("the second operand is {}", wrong_operations.another_operand),
    Hypothesis("the scan begins at the last lane", wrong_operations.reversed_scan),
    Hypothesis("the first active lane of an exclusive scan has {}", wrong_operations.wrong_identity),
    Hypothesis("the result is that of the previous execution", wrong_results.previous_execution),
    Hypothesis("the components of the result are {}", wrong_results.components),
    Hypothesis("the device rounds {}", wrong_results.smaller_type),
    Hypothesis("{} execute the operation among themselves", wrong_operations.split),
    Hypothesis("ballot bits beyond the subgroup size count", wrong_operations.ballot_beyond_size),
    Hypothesis("the result is one {} than required", wrong_results.off_by_one),
    Hypothesis("the result is {}", wrong_results.inverted),
    Hypothesis("the input is {}", wrong_operations.input_changed),
    Hypothesis("the input of {}", wrong_operations.input_of_one_lane, costly=True),
)
"""All hypotheses, in the order in which they are preferred."""
