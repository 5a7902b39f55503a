"""Probe: experiments on undeclared behavior of a device, and a table of declared and observed properties."""

from __future__ import annotations

from vkgroup.probe.experiments import EXECUTION, EXPERIMENTS, Experiment
from vkgroup.probe.outcome import (
    ExperimentOutcome,
    Failed,
    InternalFailure,
    NotSupported,
    Observed,
    SkippedExperiment,
)
from vkgroup.probe.run import Probe, probe

__all__ = [
    "EXECUTION",
    "EXPERIMENTS",
    "Experiment",
    "ExperimentOutcome",
    "Failed",
    "InternalFailure",
    "NotSupported",
    "Observed",
    "Probe",
    "SkippedExperiment",
    "probe",
]
