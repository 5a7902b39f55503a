"""Compilation of a shader for its cost, in a worker process for each device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from vkgroup.base.errors import DriverError, InternalError, NoDevice, Unsupported, describe, is_device_error
from vkgroup.cost.instructions import count_of, kinds_of
from vkgroup.cost.jobs import CompileJob
from vkgroup.cost.record import CompileStatus, Cost
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.dispatch import Device
from vkgroup.dispatch.statistics import Executable, quantities, statistics_of
from vkgroup.workers.describe import SECONDS
from vkgroup.workers.driver_output import position, printed_since
from vkgroup.workers.messages import Failure
from vkgroup.workers.opening import open_device
from vkgroup.workers.pool import default_jobs
from vkgroup.workers.worker_process import WorkerDied, WorkerProcess

EXTENSION = "VK_KHR_pipeline_executable_properties"


@dataclass(frozen=True)
class CompileAt:
    """Request to compile a job's shader at one subgroup size."""

    job: CompileJob
    size: int


@dataclass(frozen=True)
class CostSetup:
    """Setup of a worker that compiles shaders and returns their costs."""

    device: DeviceInfo
    timeout: float

    def open(self) -> CostSession:
        """Open the device."""
        return CostSession(open_device(self.device, robust=False))


@dataclass(frozen=True)
class CostSession:
    """An open device."""

    device: Device

    def perform(self, job: Any) -> Cost | Capabilities:
        """Return the cost of a `CompileAt`; the device's capabilities for any other request."""
        if not isinstance(job, CompileAt):
            return self.device.capabilities
        return cost_of(self.device, job.job, job.size)

    def close(self) -> None:
        """Close the device."""
        self.device.close()


def costs_of_jobs(
    device: DeviceInfo, jobs: Sequence[CompileJob], timeout: float = SECONDS
) -> list[list[Cost]]:
    """Compile shaders on a device at each subgroup size, and return the costs of each.

    A crash of the driver is the result of one shader and size. A size that the driver does not compile for,
    because it chooses another one for the shader, is left out if the other one is there. On a compile-only
    device that cannot be opened, for example because it lacks Vulkan 1.1, a shader has one cost with the
    reason.

    Parameters
    ----------
    device : the device; a worker process opens it.
    jobs : the shaders.
    timeout : seconds that one compilation may take.

    Raises
    ------
    NoDevice
        Another device cannot be opened.
    """
    results: list[list[Cost]] = []
    try:
        worker = _Worker(device, timeout)
        try:
            capabilities = worker.capabilities()
            for job in jobs:
                sizes = job.sizes or sizes_of(capabilities, job)
                results.append(_different([worker.compile(CompileAt(job, size)) for size in sizes]))
        finally:
            worker.close()
    except NoDevice as error:
        if not device.is_compile_only:
            raise
        cost = Cost(device.choice, device.name, device.subgroup_size, CompileStatus.NOT_SUPPORTED, str(error))
        results += [[cost] for _ in jobs[len(results) :]]
    return results


def costs_on_all(
    devices: Sequence[DeviceInfo], jobs: Sequence[CompileJob], timeout: float = SECONDS
) -> Iterator[list[list[Cost]]]:
    """Yield the result of `costs_of_jobs` for each device; several devices compile at the same time.

    After an error or an interruption, no further device begins.
    """
    pool = ThreadPoolExecutor(default_jobs())
    try:
        yield from pool.map(lambda device: costs_of_jobs(device, jobs, timeout), devices)
    finally:
        pool.shutdown(cancel_futures=True)


def _different(costs: Sequence[Cost]) -> list[Cost]:
    """Return costs without those of a size that the driver replaced by another one, which is there."""
    return list({cost.subgroup_size: cost for cost in reversed(costs)}.values())[::-1]


class _Worker:
    """A worker process with a device, which is replaced after a failure of the driver."""

    def __init__(self, device: DeviceInfo, timeout: float) -> None:
        self._device, self._timeout = device, timeout
        self._process = _start(device, timeout)
        self._has_compiled = False

    def capabilities(self) -> Capabilities:
        """Return the device's capabilities; NoDevice if it cannot be opened."""
        answer = _ask(self._process, "describe", self._timeout)
        if not isinstance(answer, Capabilities):
            raise NoDevice(f"{self._device.name} cannot be opened: {answer}")
        return answer

    def compile(self, request: CompileAt) -> Cost:
        """Return the cost of a shader at a size.

        A crash counts if it occurs in a new process, too: earlier shaders may be its reason, as the shim of
        RADV uses up its memory.
        """
        answer = _ask(self._process, request, self._timeout)
        if isinstance(answer, tuple) and answer[0] is CompileStatus.CRASH and self._has_compiled:
            self._restart()
            answer = _ask(self._process, request, self._timeout)
        if isinstance(answer, Cost):
            self._has_compiled = True
            return answer
        assert isinstance(answer, tuple)
        self._restart()
        return Cost(self._device.choice, self._device.name, request.size, *answer)

    def _restart(self) -> None:
        self._process.kill()
        self._process = _start(self._device, self._timeout)
        self._has_compiled = False

    def close(self) -> None:
        """End the process."""
        self._process.close()


def _start(device: DeviceInfo, timeout: float) -> WorkerProcess:
    try:
        return WorkerProcess(CostSetup(device, timeout), start_seconds=SECONDS)
    except WorkerDied as error:
        raise NoDevice(f"{device.name} cannot be opened: {error}") from error


def _ask(
    worker: WorkerProcess, request: CompileAt | str, timeout: float
) -> Cost | Capabilities | tuple[CompileStatus, str]:
    """Return the worker's answer, or how the driver failed.

    Raises InternalError: vkgroup or the host failed.
    """
    try:
        answer = worker.ask(request, timeout)
    except WorkerDied as error:
        if error.is_internal:
            raise InternalError(str(error)) from error
        return CompileStatus.CRASH, str(error)
    if isinstance(answer, Failure):
        if answer.is_internal:
            raise InternalError(answer.message)
        return CompileStatus.TIMEOUT if answer.kind == "timeout" else CompileStatus.CRASH, answer.message
    assert isinstance(answer, Cost | Capabilities)
    return answer


def sizes_of(capabilities: Capabilities, job: CompileJob) -> tuple[int, ...]:
    """Return the subgroup sizes that a device can compile a shader for."""
    control = capabilities.size_control
    if not _controls_size(capabilities, job):
        return (capabilities.subgroup.size,)
    return tuple(1 << power for power in range(8) if control.min_size <= 1 << power <= control.max_size)


def _controls_size(capabilities: Capabilities, job: CompileJob) -> bool:
    control = capabilities.size_control
    return control.supported and job.stage in control.required_size_stages and job.controls_size


def cost_of(device: Device, job: CompileJob, size: int) -> Cost:
    """Compile a shader on an open device at a subgroup size, and return its cost."""
    capabilities = device.capabilities
    cost = Cost(device.info.choice, capabilities.name, size, CompileStatus.COMPILED)
    if "pipelineExecutableInfo" not in capabilities.features:
        return replace(cost, status=CompileStatus.NOT_SUPPORTED, detail=f"the driver lacks {EXTENSION}")
    printed = position()
    own_size = not _controls_size(capabilities, job) and size == capabilities.subgroup.size
    try:
        with job.pipeline(device, None if own_size else size) as pipeline:
            executables = [
                executable
                for executable in pipeline.executables(representations=True)
                if job.stage in executable.stages
            ]
            shader = pipeline.stages.shaders[0]
    except Unsupported as error:
        lacking = ", ".join(error.missing) or str(error)
        return replace(cost, status=CompileStatus.NOT_SUPPORTED, detail=lacking)
    except DriverError as error:
        if not is_device_error(error):
            raise
        detail = "\n".join(filter(None, (describe(error), printed_since(printed))))
        return replace(cost, status=CompileStatus.REJECTED, detail=detail)
    if not executables:
        return replace(cost, status=CompileStatus.NOT_SUPPORTED, detail="the driver reports no executable")
    declared: dict[str, float] = {}
    if job.stage == "compute":
        memory = shader.module.reflection.shared_memory(shader.specialization)
        declared["shared_memory"] = float(memory)
    return _filled(cost, capabilities.driver_name, executables[0], declared)


def _filled(cost: Cost, driver: str, executable: Executable, declared: Mapping[str, float]) -> Cost:
    """Return a cost with the quantities of an executable; `declared`: quantities that the shader declares."""
    name = statistics_of(driver).assembly
    codes = [code.text for code in executable.representations if name and code.name == name]
    assembly = codes[0] if codes else ""
    kinds = kinds_of(driver, assembly)
    found = {**declared, **quantities(driver, executable.statistics)}
    if assembly:
        found["subgroup_instructions"] = float(count_of(driver, kinds))
    return replace(
        cost,
        # A driver that does not let a pipeline choose reports the size that it compiled for.
        subgroup_size=executable.subgroup_size or cost.subgroup_size,
        quantities=found,
        kinds=kinds,
        statistics=executable.statistics,
        assembly=assembly,
    )
