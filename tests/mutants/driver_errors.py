"""Errors of drivers, planted by rewriting modules: hangs, crashes, killed processes, wrong results.

Worker processes import these functions by name.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import time
from pathlib import Path

from mutants.rewriting import Words, boolean_constant, instructions, rewritten
from vkgroup.base.errors import CompileError, DispatchTimeout, DriverError, OutOfMemory
from vkgroup.compiler import compile_source
from vkgroup.dispatch.vulkan import pipeline

LOOP, SWITCH, ELECT, ALL, ANY, BALLOT = 246, 251, 333, 334, 335, 339
"""Opcodes of OpLoopMerge, OpSwitch and group operations."""

FLAG = "VKGROUP_TEST_FLAG"
"""Environment variable: a file that some of the errors create before they kill their process."""

HANG = """#version 460
// Never ends: every invocation adds to the outputs for ever.
// binding 0: inputs, read in the endless loop; binding 1: outputs.
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Inputs { uint inputs[]; };
layout(std430, binding = 1) buffer Outputs { uint outputs[]; };
void main() {
    while (inputs[0] < 2u) atomicAdd(outputs[0], 1u);
}
"""

CRASH = """#version 460
// Ends the process of SwiftShader: its compiler fails at 256 MiB of local variables.
// binding 0: inputs, which choose the elements; binding 1: outputs.
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer Inputs { uint inputs[]; };
layout(std430, binding = 1) buffer Outputs { uint outputs[]; };
void main() {
    uint heap[1 << 26];
    for (uint i = 0u; i < (1u << 26); i += 1024u) heap[i + (inputs[0] & 1u)] = i;
    outputs[gl_GlobalInvocationID.x] = heap[inputs[gl_GlobalInvocationID.x] & 1023u];
}
"""


def uses(data: bytes, opcode: int) -> bool:
    """Return whether a module has an instruction."""
    return any(instruction[0] == opcode for instruction in instructions(data))


def wait_in_native_code(*_: object) -> None:
    """Never return, as a driver that is stuck: a signal does not end the wait for a mutex that is locked."""
    library, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
    for _number in range(2):
        library.pthread_mutex_lock(mutex)


def pipeline_without_end_on_elect(data: bytes) -> bytes:
    """Let the driver never return when it creates the pipeline of a shader that elects."""
    if uses(data, ELECT):
        vars(pipeline)["create_compute_pipeline"] = wait_in_native_code
    return data


def hang_on_elect(data: bytes) -> bytes:
    """Replace each shader that elects by an endless one."""
    return compile_source(HANG, stage="compute").to_bytes() if uses(data, ELECT) else data


def time_out_on_elect(data: bytes) -> bytes:
    """Raise the error of a hanging dispatch at a shader that elects, without the wait."""
    if uses(data, ELECT):
        raise DispatchTimeout("planted: no end within the time limit")
    return data


def wait_on_elect(data: bytes) -> bytes:
    """Keep the worker busy for a minute at a shader that elects."""
    if uses(data, ELECT):
        time.sleep(60)
    return data


def crash_on_elect(data: bytes) -> bytes:
    """Replace each shader that elects by one that ends the driver's process."""
    return compile_source(CRASH, stage="compute").to_bytes() if uses(data, ELECT) else data


def killed(data: bytes) -> bytes:
    """End this process as a driver that accesses invalid memory does."""
    os.kill(os.getpid(), signal.SIGSEGV)
    return data


def killed_on_elect(data: bytes) -> bytes:
    """End this process at a shader that elects."""
    return killed(data) if uses(data, ELECT) else data


MODULES_OF_A_PROCESS = 36
"""Modules after which `killed_when_used_up` kills its process."""

_modules = itertools.count(1)


def killed_when_used_up(data: bytes) -> bytes:
    """End this process at a module after the first `MODULES_OF_A_PROCESS`, whatever the module is.

    Create the file that `FLAG` names before.
    """
    if next(_modules) > MODULES_OF_A_PROCESS:
        Path(os.environ[FLAG]).touch()
        return killed(data)
    return data


def killed_by_the_system_on_elect(data: bytes) -> bytes:
    """Kill this process at a shader that elects, as a system that is out of memory does."""
    if uses(data, ELECT):
        os.kill(os.getpid(), signal.SIGKILL)
    return data


def memory_error_on_elect(data: bytes) -> bytes:
    """Raise the error of Python without memory at a shader that elects."""
    if uses(data, ELECT):
        raise MemoryError
    return data


def compile_error_on_elect(data: bytes) -> bytes:
    """Raise the error of a shader of the suite that does not compile, at a shader that elects."""
    if uses(data, ELECT):
        raise CompileError("planted: does not compile")
    return data


def invalid_module_on_elect(data: bytes) -> bytes:
    """Return no module at a shader that elects."""
    return b"" if uses(data, ELECT) else data


def out_of_memory_on_elect(data: bytes) -> bytes:
    """Raise the error of a driver without memory at a shader that elects."""
    if uses(data, ELECT):
        raise OutOfMemory("planted", "VK_ERROR_OUT_OF_HOST_MEMORY")
    return data


def rejected_on_elect(data: bytes) -> bytes:
    """Raise the error of a driver that rejects a pipeline, at a shader that elects."""
    if uses(data, ELECT):
        raise DriverError("vkCreateComputePipelines failed (VK_ERROR_UNKNOWN).", "VK_ERROR_UNKNOWN")
    return data


def aborted_on_elect(data: bytes) -> bytes:
    """End this process as a driver with a failed assertion does, at a shader that elects."""
    if uses(data, ELECT):
        os.write(2, b"driver.c:1: elect: Assertion `0' failed.\n")
        os.abort()
    return data


def internal_error_on_elect(data: bytes) -> bytes:
    """Raise an error at a shader that elects, as a bug of vkgroup does."""
    return internal_error(data) if uses(data, ELECT) else data


def exits_on_elect(data: bytes) -> bytes:
    """End the worker by an exception of its own code at a shader that elects."""
    if uses(data, ELECT):
        raise SystemExit("planted")
    return data


def dask_worker_killed_on_elect(data: bytes) -> bytes:
    """Kill the Dask worker that is this process's parent, at a shader that elects."""
    if uses(data, ELECT):
        os.kill(os.getppid(), signal.SIGKILL)
    return data


def killed_by_a_switch(data: bytes) -> bytes:
    """Kill this process at a module with a switch and a loop."""
    return killed(data) if uses(data, SWITCH) and uses(data, LOOP) else data


def wrong_vote(data: bytes) -> bytes:
    """Replace each subgroupAll by subgroupAny."""
    return rewritten(data, lambda words: [[ANY, *words[1:]]] if words[0] == ALL else [words])


def wrong_vote_and_killed_on_elect(data: bytes) -> bytes:
    """Replace votes, and kill this process at a shader that elects."""
    return wrong_vote(data) if uses(data, ALL) else killed_on_elect(data)


def wrong_vote_once_and_killed_on_elect(data: bytes) -> bytes:
    """Replace the vote of the first module only, as if another process's hang had reset the device."""
    if uses(data, ALL):
        flag = Path(os.environ[FLAG])
        if not flag.exists():
            flag.touch()
            return wrong_vote(data)
    return killed_on_elect(data)


def wrong_switch(data: bytes) -> bytes:
    """Exchange the default and the first case of a switch, in modules with a loop."""
    if not uses(data, LOOP):
        return data

    def swapped(words: Words) -> list[Words]:
        if words[0] != SWITCH or len(words) < 5:
            return [words]
        opcode, selector, default, literal, target, *others = words
        return [[opcode, selector, target, literal, default, *others]]

    return rewritten(data, swapped)


def empty_ballot(data: bytes) -> bytes:
    """Replace the predicates of ballots by false."""
    data, false = boolean_constant(data, value=False)
    return rewritten(data, lambda words: [[*words[:4], false]] if words[0] == BALLOT else [words])


def internal_error(data: bytes) -> bytes:
    """Raise an error, as a bug of vkgroup does."""
    raise ZeroDivisionError("planted")
