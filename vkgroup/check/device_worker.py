"""Worker process that runs one dispatch: ``python -m vkgroup.check.device_worker``, a job on standard input.

A crash or hang of the driver ends this process only. The driver's output goes to standard error.
"""

from __future__ import annotations

from typing import IO

from vkgroup.check.device_job import READY, Answer, Job
from vkgroup.device import Capabilities
from vkgroup.device.limits import subgroup_size_problems
from vkgroup.device.requirements import missing
from vkgroup.errors import OutOfMemory, Unsupported, VkgroupError
from vkgroup.opening import open_device
from vkgroup.processes import receive, send, serve_and_leave


def answer(job: Job) -> Answer:
    """Run the job and return its result; missing features and errors are described in words."""
    try:
        with open_device(job.device) as device:
            lacking = missing(job.module, device.capabilities, job.entry_point, job.subgroup_size)
            if lacking:
                return Answer(unsupported=", ".join(lacking))
            results = device.run(
                job.module,
                job.groups,
                job.bindings,
                push=job.push or None,
                entry_point=job.entry_point,
                specialization=job.specialization,
                timeout=job.timeout,
                subgroup_size=job.subgroup_size,
            )
            outputs = {place: results[place] for place in job.bindings if place in job.writable}
            return Answer(outputs, sizes=_sizes(job, device.capabilities))
    except Unsupported as error:
        return Answer(unsupported=", ".join(error.missing) or str(error))
    except OutOfMemory as error:
        return Answer(unsupported=str(error))
    except VkgroupError as error:
        return Answer(failure=f"{type(error).__name__}: {error}")


def _sizes(job: Job, capabilities: Capabilities) -> tuple[int, ...]:
    """Return the subgroup sizes that may be required of the device for this shader."""
    control = capabilities.size_control
    powers = [1 << k for k in range(control.max_size.bit_length()) if 1 << k >= control.min_size]
    return tuple(
        size for size in powers if not subgroup_size_problems(size, False, job.local_size, capabilities)
    )


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer one job. The first message only shows that the process has started."""
    job: Job = receive(requests)
    send(answers, READY)
    send(answers, answer(job))


if __name__ == "__main__":
    serve_and_leave(serve)
