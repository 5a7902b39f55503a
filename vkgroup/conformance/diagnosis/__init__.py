"""Diagnosis of a failed case: which hypothesis about the device explains the values that it recorded.

A *hypothesis* is the reference model with one rule changed, such as "only component 0 is compared". For every
wrong lane of a case the changed model predicts a value; a hypothesis explains the case if it predicts each of
them. `hypotheses` is the table, `observation` holds what a case recorded and evaluates the model,
`diagnose` makes the JSON data of a result. `vkgroup.record.causes` groups the diagnoses of a run.
"""

from __future__ import annotations

from vkgroup.conformance.diagnosis.diagnose import diagnose, diagnosed, diagnosis_of

__all__ = ["diagnose", "diagnosed", "diagnosis_of"]
