"""Functions whose exceptions Python prints and drops: finalizers, and callbacks of C code and of `weakref`.

An exception that a signal handler raises while one of them runs is lost, Ctrl-C too.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import TypeVar

_FunctionT = TypeVar("_FunctionT", bound=Callable[..., object])

_called_from_c: set[CodeType] = set()


def called_from_c(function: _FunctionT) -> _FunctionT:
    """Register a function that C code calls (a decorator)."""
    _called_from_c.add(function.__code__)
    return function


def drops_exceptions(frame: FrameType | None) -> bool:
    """Return whether Python would drop an exception that is raised in a frame."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or code in _called_from_c:
            return True
        if code.co_name == "remove" and code.co_filename == weakref.__file__:
            return True
        frame = frame.f_back
    return False
