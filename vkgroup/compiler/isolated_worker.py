"""Worker process that runs compilers: ``python -m vkgroup.compiler.isolated_worker``.

It imports no NumPy, so that it starts fast.
"""

from __future__ import annotations

import os
import select
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import IO, Any

from vkgroup.base import processes
from vkgroup.base.errors import CompileError, VkgroupError
from vkgroup.compiler.dxc import compile_dxc, dxc_version
from vkgroup.compiler.gl_compilation import compile_for_opengl
from vkgroup.compiler.glslang import compile_glslang
from vkgroup.compiler.shaderc import compile_by_library, has_library, problem
from vkgroup.compiler.slang import compile_slang

FUNCTIONS: Mapping[str, Callable[[Any], object]] = {
    "glslang": compile_glslang,
    "program": compile_for_opengl,
    "shaderc": compile_by_library,
    "slang": compile_slang,
    "dxc": compile_dxc,
    "dxc_version": dxc_version,
    "problem": problem,
    "has_library": has_library,
}
"""Functions by the names in requests; each has one argument."""


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer each working directory, function and argument with the function's result, or an exception."""
    threading.Thread(target=_end_with_parent, args=(requests,), daemon=True).start()
    while True:
        try:
            folder, function, argument = processes.receive(requests)
        except EOFError:
            return
        processes.send(answers, _answer(folder, function, argument))


def _end_with_parent(requests: IO[bytes]) -> None:
    """End this process when its parent closes the pipe or ends, even while a compiler runs."""
    closed = select.poll()
    closed.register(requests, 0)  # reports only that the other end is closed
    closed.poll()
    os._exit(0)


def _answer(folder: str, function: str, argument: Any) -> object:
    try:
        os.chdir(folder)
    except OSError as error:
        return CompileError(f"the working directory {folder} is not accessible: {error.strerror}")
    try:
        return FUNCTIONS[function](argument)
    except VkgroupError as error:
        return error
    except Exception:
        return RuntimeError(f"Internal error in the compiler process:\n{traceback.format_exc()}")


if __name__ == "__main__":
    processes.serve_and_leave(serve)
