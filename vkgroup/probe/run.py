"""Running all experiments on one device."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vkgroup.base.errors import (
    DeviceLost,
    DispatchTimeout,
    InvalidInput,
    NoDevice,
    Unsupported,
    describe,
    is_device_error,
)
from vkgroup.device import Capabilities
from vkgroup.device.gl_limits import gl_limits
from vkgroup.dispatch import Device
from vkgroup.dispatch.reference.capabilities import DRIVER_NAME
from vkgroup.probe.experiments import EXECUTION, EXPERIMENTS, Experiment
from vkgroup.probe.litmus import LitmusResult
from vkgroup.probe.outcome import (
    ExperimentOutcome,
    Failed,
    InternalFailure,
    NotSupported,
    Observed,
    SkippedExperiment,
)
from vkgroup.probe.subject import NoFullSubgroup, Subject


@dataclass(frozen=True)
class Probe:
    """Declared capabilities of a device and outcomes of all experiments."""

    capabilities: Capabilities  # the declared capabilities
    #: The outcome of each experiment, by its name, in the order in which they ran.
    outcomes: Mapping[str, ExperimentOutcome]
    lost: bool = False  # whether the device was lost or hung; the remaining experiments were then not run
    #: Exception that ended the probe early (Ctrl-C); the remaining experiments were then not run.
    interrupted: KeyboardInterrupt | None = None

    @property
    def forbidden(self) -> list[str]:
        """The outcomes that Vulkan forbids and that the litmus tests saw, each with its experiment."""
        return [
            f"{name}: {outcome.observation.forbidden}"
            for name, outcome in self.outcomes.items()
            if isinstance(outcome, Observed)
            and isinstance(outcome.observation, LitmusResult)
            and outcome.observation.forbidden
        ]

    def to_json(self) -> dict[str, Any]:
        """Return all data as strict JSON: "device", "capabilities", "gl_limits" and "experiments".

        Limits that a driver reports as infinite or NaN become None.
        """
        declared = self.capabilities
        data: dict[str, Any] = {
            "device": {
                "name": declared.name,
                "type": declared.type,
                "driver_name": declared.driver_name,
                "driver_info": declared.driver_info,
                "api_version": list(declared.api_version),
                "broken_promises": declared.minimum_promises(),
                "lost": self.lost,
            },
            "capabilities": declared.to_json(),
            "gl_limits": {name: limit.to_json() for name, limit in gl_limits(declared).items()},
            "experiments": {name: outcome.to_json() for name, outcome in self.outcomes.items()},
        }
        finite: dict[str, Any] = _finite(data)
        return finite


def probe(device: Device, *, execution: bool = False) -> Probe:
    """Run the experiments on an open device.

    If an experiment fails, by an error of the driver or of vkgroup, the failure is reported and the next
    experiment runs. After a lost device or an interruption, the remaining experiments are not run.

    Parameters
    ----------
    device : an open device; stays open.
    execution : whether to run the litmus tests of the execution model, too.

    Raises
    ------
    NoDevice
        The device executes nothing.
    InvalidInput
        The litmus tests are asked of the reference device, which has no model of its own to find.
    """
    device.require_execution()
    if execution and device.capabilities.driver_name == DRIVER_NAME:
        raise InvalidInput(
            "The litmus tests (--execution) find what a driver does. The reference device executes as its"
            " options say, and too slowly for them. Choose a GPU, lavapipe or SwiftShader."
        )
    subject = Subject(device)
    outcomes: dict[str, ExperimentOutcome] = {}
    lost = False
    interrupted: KeyboardInterrupt | None = None
    for experiment in (*EXPERIMENTS, *(EXECUTION if execution else ())):
        if lost or interrupted is not None:
            outcomes[experiment.name] = SkippedExperiment(
                "the device was lost in an earlier experiment" if lost else "interrupted"
            )
            continue
        try:
            outcomes[experiment.name], lost = _outcome(experiment, subject)
        except KeyboardInterrupt as end:
            interrupted = end
            outcomes[experiment.name] = SkippedExperiment("interrupted")
    return Probe(device.capabilities, outcomes, lost, interrupted)


def _outcome(experiment: Experiment, subject: Subject) -> tuple[ExperimentOutcome, bool]:
    """Run one experiment; return its outcome and whether the device was lost."""
    missing = experiment.missing(subject.capabilities)
    if missing:
        return NotSupported(missing), False
    try:
        return Observed(experiment.observe(subject)), False
    except NoFullSubgroup as reason:
        return SkippedExperiment(str(reason)), False
    except Unsupported as error:
        return NotSupported(error.missing or (str(error),)), False
    except (DeviceLost, DispatchTimeout) as error:
        return Failed(f"the device was lost: {error}"), True
    except NoDevice as error:
        return Failed(str(error)), True
    except Exception as error:
        if is_device_error(error):
            return Failed(str(error)), False
        return InternalFailure(describe(error)), False


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
