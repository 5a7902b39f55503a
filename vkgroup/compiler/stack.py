"""Single thread with a deep stack, in which all compilers run.

glslang parses expressions recursively: a sum of 30,000 terms overflows the usual stack of 8 MiB and ends the
process. A deep stack reserves address space and uses memory only when needed. glslang also has global tables,
which a single thread uses without a lock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from vkgroup.base.errors import CompilerUnavailable

Result = TypeVar("Result")

#: Stack sizes in bytes, tried in this order: 32-bit systems and address-space limits may reject large ones.
_STACK_SIZES = (1 << 30, 1 << 28, 1 << 26)

#: Stack that a compiler may need for each character of preprocessed source. Measured with glslang
#: 13: 150 to 400 for ``x+x+x…``, which has the deepest tree for its length.
_BYTES_PER_CHARACTER = 512

_Answer = tuple[Any, BaseException | None]


class _Worker:
    """A thread that executes function calls one after another."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[[int], Any], SimpleQueue[_Answer]]] = SimpleQueue()
        self._longest = self._start()

    def _start(self) -> int:
        """Start the thread with the deepest possible stack; return the longest source that it allows."""
        # The stack size is a setting of the process, changed only for the start of this thread.
        before = threading.stack_size()
        try:
            for size in _STACK_SIZES:
                try:
                    threading.stack_size(size)
                    threading.Thread(target=self._serve, name="vkgroup compiler", daemon=True).start()
                    return size // _BYTES_PER_CHARACTER
                except (RuntimeError, ValueError):
                    continue
        finally:
            threading.stack_size(before)
        raise CompilerUnavailable(
            "the compiler thread cannot be started: the limit of memory or threads is reached"
        )

    def _serve(self) -> None:
        while True:
            function, answer = self._calls.get()
            try:
                answer.put((function(self._longest), None))
            except BaseException as error:  # it is raised again in the caller's thread
                answer.put((None, error))
            del function, answer

    def call(self, function: Callable[[int], Result]) -> Result:
        answer: SimpleQueue[_Answer] = SimpleQueue()
        self._calls.put((function, answer))
        result, error = answer.get()
        if error is not None:
            raise error
        returned: Result = result
        return returned


_lock = threading.Lock()
_workers: list[_Worker] = []


def with_deep_stack(function: Callable[[int], Result]) -> Result:
    """Call ``function(longest)`` in the compilers' thread; return its result, or raise its exception.

    ``longest`` is the maximum length of preprocessed source, in characters, that the stack allows.

    Raises CompilerUnavailable: no thread can be started.
    """
    with _lock:
        if not _workers:
            _workers.append(_Worker())
        worker = _workers[0]
    return worker.call(function)


def _forget() -> None:
    """Reset this module in a forked process, which has no copy of its parent's threads."""
    global _lock
    _lock = threading.Lock()
    _workers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
