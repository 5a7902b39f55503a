"""glslang in a process of its own, for what is known to crash it: its HLSL front end.

A source of a few words, unfinished or misspelt, takes the process along (a null pointer in glslang 13, for
``StructuredBuffer<uint>x main(uint3 D) {``). Here that is a compiler's error like any other. One process
(`vkgroup.compiler.apart_worker`) compiles all sources, one after the other, and ends with the one that it
works for.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import threading
from contextlib import suppress
from typing import Any

from vkgroup import processes
from vkgroup.compiler.includes import Dependencies
from vkgroup.compiler.source import Request, failure
from vkgroup.errors import CompilerUnavailable, VkgroupError
from vkgroup.spirv import Module

WORKER = "vkgroup.compiler.apart_worker"
"""The module that the process runs."""

SECONDS = 60.0
"""That a source may take, the start of the process included."""


class _Server:
    """The process, started when first needed and again after a crash."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: Request) -> tuple[Module, Dependencies]:
        """Let the process compile; see `compile_apart`."""
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
                answer = _exchange(process, (os.getcwd(), request))
            except (OSError, EOFError, pickle.UnpicklingError):
                code = self._end()
                how = f"took longer than {SECONDS:g} s" if late.is_set() else f"crashed ({_ending(code)})"
                raise failure(request.name, 0, f"glslang {how} on this source") from None
            except BaseException:
                # Interrupted: the answer that is still to come is for nobody.
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
            # One that has crashed is about to be gone; one that has not gets no time.
            return process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


_server = _Server()
atexit.register(_server.close)


def compile_apart(request: Request) -> tuple[Module, Dependencies]:
    """Do as `vkgroup.compiler.glslang.compile_glslang` does, in another process.

    Raises
    ------
    CompileError
        Also where glslang crashes, or does not end.
    CompilerUnavailable
        glslang is not installed, or no process starts.
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
        raise CompilerUnavailable(f"no process to compile in: {error.strerror}") from error


def _exchange(process: subprocess.Popen[bytes], question: object) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    pickle.dump(question, process.stdin)
    process.stdin.flush()
    return pickle.load(process.stdout)


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
