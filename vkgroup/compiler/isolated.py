"""Compilers in a separate process: a source that crashes a compiler does not end the user's process.

glslang crashes on some sources (``#pragma STDGL``, unfinished HLSL declarations). One process
(`vkgroup.compiler.isolated_worker`) compiles all sources in turn and ends with its parent. It is started by
the first compilation, and again after a crash, which becomes a `CompileError`.
"""

from __future__ import annotations

import atexit
import os
import pickle
import select
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from vkgroup.base import processes
from vkgroup.base.errors import CompilerUnavailable
from vkgroup.compiler.includes import Dependencies
from vkgroup.compiler.installed import InstalledCompiler
from vkgroup.compiler.request import CompileRequest, failure
from vkgroup.spirv import Module

if TYPE_CHECKING:
    from vkgroup.compiler.gl_compilation import Compiled

WORKER = "vkgroup.compiler.isolated_worker"
"""Python module of the worker process."""

SECONDS = 60.0
"""Time limit in seconds for one source, including the start of the process."""

_COMPILERS = {
    "glslang": "glslang",
    "program": "glslang",
    "shaderc": "glslang",
    "slang": "Slang",
    "dxc": "DXC",
    "dxc_version": "DXC",
    "problem": "SPIRV-Tools",
    "has_library": "libshaderc",
}
"""Name in errors by function of the worker."""


class _Server:
    """The worker process, started at the first request and again after a crash.

    `compiler`: the installed glslang whose libshaderc it loads; None for that of the wheel and the system's.
    """

    def __init__(self, compiler: InstalledCompiler | None = None) -> None:
        self._lock = threading.Lock()
        self._compiler = compiler
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, function: str, argument: object, name: str) -> Any:
        """Return the result of a function of the worker; `name` is that of the source in errors."""
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self._end()  # something else ended it, perhaps for lack of memory
            process = self._process = self._process or self._start()
            try:
                answer = _exchange(process, (os.getcwd(), function, argument))
            except TimeoutError:
                process.kill()
                self._end()
                reason = f"{_COMPILERS[function]} took longer than {SECONDS:g} s on this source"
                raise failure(name, 0, reason) from None
            except (OSError, EOFError, pickle.UnpicklingError):
                code = self._end()
                how = f"signal {-code}" if code < 0 else f"exit code {code}"
                raise failure(name, 0, f"{_COMPILERS[function]} crashed ({how}) on this source") from None
            except BaseException:
                # Interrupted: end the process, because its answer would be taken for the next request's.
                self._end()
                raise
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def forget(self) -> None:
        """Leave the process to the parent of this forked process."""
        self._lock = threading.Lock()
        self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        command, environment = processes.command(WORKER), processes.environment()
        if self._compiler is not None:
            command, environment = self._compiler.process(WORKER)
        try:
            return subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            reason = f"the compiler process cannot be started: {error.strerror}"
            raise CompilerUnavailable(reason) from error

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
_installed: dict[InstalledCompiler, _Server] = {}


def _of(installed: InstalledCompiler | None) -> _Server:
    """Return the server of a compiler; that of an earlier one, as after an update, ends."""
    if installed is None:
        return _server
    if installed not in _installed:
        for server in _installed.values():
            server.close()
        _installed.clear()
        _installed[installed] = _Server(installed)
    return _installed[installed]


def _close() -> None:
    for server in (_server, *_installed.values()):
        server.close()


def _forget() -> None:
    """Leave the processes to the parent of this forked process."""
    for server in (_server, *_installed.values()):
        server.forget()


atexit.register(_close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def compile_isolated(
    compiler: str, request: CompileRequest, installed: InstalledCompiler | None = None
) -> tuple[Module, Dependencies]:
    """Compile a request with a compiler of the worker process, without validation.

    `compiler`: ``"glslang"`` (`vkgroup.compiler.glslang.compile_glslang`) or ``"shaderc"``
    (`vkgroup.compiler.shaderc.compile_by_library`). `installed`: whose libshaderc to use.

    Raises CompileError: as those functions do, and if the compiler crashes or exceeds `SECONDS`. Raises
    CompilerUnavailable: the compiler is not installed, or the process cannot be started.
    """
    words, dependencies = _of(installed).ask(compiler, request, request.name)
    return Module.from_bytes(words), dependencies


def link_isolated(requests: Sequence[CompileRequest]) -> Compiled:
    """Run `vkgroup.compiler.gl_compilation.compile_for_opengl` in the worker process; errors as above."""
    compiled: Compiled = _server.ask("program", tuple(requests), requests[0].name)
    return compiled


def problem_of_installed(installed: InstalledCompiler, module: Module, environment: str) -> str:
    """Return why SPIRV-Tools of an installed glslang rejects a module for an environment; else nothing."""
    problem: str = _of(installed).ask("problem", (environment, module.to_bytes()), "module")
    return problem


def version_of_dxc() -> str:
    """Return DXC's version; CompilerUnavailable if it is not installed."""
    return str(_server.ask("dxc_version", None, "libdxcompiler"))


def has_libshaderc() -> bool:
    """Return whether the worker process can load a libshaderc of the system."""
    return bool(_server.ask("has_library", None, "libshaderc"))


def _exchange(process: subprocess.Popen[bytes], message: object) -> Any:
    """Send a message and return the answer; TimeoutError after `SECONDS`."""
    assert process.stdin is not None
    assert process.stdout is not None
    processes.send(process.stdin, message)
    # Not select.select, which refuses file numbers above 1023.
    answers = select.poll()
    answers.register(process.stdout, select.POLLIN)
    if not answers.poll(1000 * SECONDS):
        raise TimeoutError
    return processes.receive(process.stdout)
