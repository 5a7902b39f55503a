"""Ctrl-C at many places of a call."""

from __future__ import annotations

import signal
from collections.abc import Callable


def interrupt_often(call: Callable[[], object], times: int, step: float) -> None:
    """Repeat a call until an alarm interrupts it, `times` times; each alarm comes `step` seconds later."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for number in range(times):
            try:
                signal.setitimer(signal.ITIMER_REAL, 20e-6 + number * step)
                for _ in range(60):
                    call()
            except KeyboardInterrupt:
                pass
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:  # the last alarm, late
        pass
    finally:
        signal.signal(signal.SIGALRM, before)
