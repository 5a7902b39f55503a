"""Worker process: opens one device and runs the modules that it receives on its standard input.

It receives a `Setup`, then tasks. It answers each task with the words of the outputs or with a `Failure`.
What the driver prints on standard output goes to standard error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.messages import Failure, Setup, send, serve_and_leave
from vkgroup.conformance.worker import Requests
from vkgroup.dispatch import Device
from vkgroup.errors import DeviceLost, DispatchTimeout, VkgroupError
from vkgroup.opening import open_device
from vkgroup.spirv import Module

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Task:
    """One dispatch.

    Attributes
    ----------
    module : SPIR-V as bytes.
    inputs : words of binding 0.
    output_words : number of words of binding 1, initially zero.
    groups : workgroups in x.
    subgroup_size : required subgroup size; 0 leaves it to the device.
    """

    module: bytes
    inputs: Words
    output_words: int
    groups: int
    subgroup_size: int = 0


def perform(device: Device, task: Task, timeout: float) -> Words:
    """Run a task on an open device.

    Raises
    ------
    VkgroupError
        The device rejects the module or the dispatch.
    """
    module = Module.from_bytes(task.module)
    with (
        device.buffer(task.inputs) as inputs,
        device.buffer(np.zeros(task.output_words, np.uint32)) as outputs,
        device.pipeline(module, subgroup_size=task.subgroup_size or None) as pipeline,
        pipeline.bind({0: inputs, 1: outputs}) as bound,
    ):
        bound.dispatch((task.groups, 1, 1), timeout=timeout)
        return np.asarray(outputs.read(np.uint32, task.output_words))


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer tasks until there are no more, or the device is lost."""
    queue = Requests(requests)
    setup: Setup = queue.next()
    try:
        device = open_device(setup.device)
    except VkgroupError as error:
        send(answers, Failure("open", str(error)))
        return
    queue.answered()
    send(answers, "ready")
    while (task := queue.next()) is not None:
        answer: Words | Failure
        try:
            answer = perform(device, task, setup.timeout)
        except (DispatchTimeout, DeviceLost) as error:
            send(answers, Failure("timeout" if isinstance(error, DispatchTimeout) else "lost", str(error)))
            return
        except VkgroupError as error:
            answer = Failure("error", f"{type(error).__name__}: {error}")
        queue.answered()
        send(answers, answer)
    device.close()


if __name__ == "__main__":
    serve_and_leave(serve)
