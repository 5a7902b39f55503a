"""glslang in a separate process, for its HLSL front end, which is known to crash.

An incomplete or misspelt source can crash glslang 13 (null pointer for
``StructuredBuffer<uint>x main(uint3 D) {``). In the separate process such a crash becomes a `CompileError`.
One process (`vkgroup.compiler.isolated_worker`) compiles all sources in turn and ends with its parent.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import threading
from contextlib import suppress

from vkgroup import processes
from vkgroup.compiler.includes import Dependencies
from vkgroup.compiler.request import Request, failure
from vkgroup.errors import CompilerUnavailable, VkgroupError
from vkgroup.spirv import Module

WORKER = "vkgroup.compiler.isolated_worker"
"""Python module of the worker process."""

SECONDS = 60.0
"""Time limit in seconds for one source, including the start of the process."""


class _Server:
    """The worker process, started at the first request and again after a crash."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: Request) -> tuple[Module, Dependencies]:
        """Compile one request in the process; see `compile_isolated`."""
        with self._lock:
            process = self._process = self._process or _start()
            late = threading.Event()

            def give_up() -> None:
                late.set()
                process.kill()

            timer = threading.Timer(SECONDS, give_up)
            timer.daemon = True
            timer.start()
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                pickle.dump((os.getcwd(), request), process.stdin)
                process.stdin.flush()
                answer = pickle.load(process.stdout)
            except (OSError, EOFError, pickle.UnpicklingError):
                code = self._end()
                how = f"crashed ({f'signal {-code}' if code < 0 else f'exit code {code}'})"
                if late.is_set():
                    how = f"took longer than {SECONDS:g} s"
                raise failure(request.name, 0, f"glslang {how} on this source") from None
            except BaseException:
                # Interrupted: end the process, because its answer would be taken for the next request's.
                self._end()
                raise
            finally:
                timer.cancel()
        if isinstance(answer, VkgroupError):
            raise answer
        module, dependencies = answer
        return module, dependencies

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _end(self) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                assert stream is not None
                stream.close()
        try:
            # A crashed process ends by itself; any other is killed.
            return process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


_server = _Server()
atexit.register(_server.close)


def compile_isolated(request: Request) -> tuple[Module, Dependencies]:
    """Run `vkgroup.compiler.glslang.compile_glslang` in the worker process.

    Raises CompileError: as for `compile_glslang`, and if glslang crashes or exceeds `SECONDS`. Raises
    CompilerUnavailable: glslang is not installed, or the process cannot be started.
    """
    return _server.ask(request)


def _start() -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            processes.command(WORKER),
            env=processes.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise CompilerUnavailable(f"the compiler process cannot be started: {error.strerror}") from error
