"""What deaths of workers cast doubt on, while a run goes on.

A GPU that is lost may end the work of others half done. So failures are held until no death can explain them,
and those that one can explain are judged again, alone, as is what workers died of.
"""

from __future__ import annotations

import threading
import time
from collections import deque

from vkgroup.conformance.results import Result, TakeResults
from vkgroup.conformance.suspects import Answer, Death, Suspect, Work, doubted

TROUBLE_SECONDS = 30.0
"""Seconds around a worker's death in which failures of others on its device are doubted."""


class Doubts:
    """The deaths of a run, the failures that are held, and what is to be judged alone.

    A `place` is a device that can be lost without another; "" where there is but one.

    Parameters
    ----------
    is_gpu : whether the device is one, which may stay lost after it hung.

    Attributes
    ----------
    suspects : what is to be judged alone, when nobody else is at work.
    """

    def __init__(self, is_gpu: bool) -> None:
        self.suspects: deque[Suspect] = deque()
        self._is_gpu = is_gpu
        self._lock = threading.Lock()
        self._deaths: list[tuple[float, str, Death]] = []
        self._held: deque[tuple[Answer, TakeResults, str]] = deque()
        self._hung: dict[str, str] = {}

    @property
    def holding(self) -> bool:
        """Whether there are failures that are held."""
        return bool(self._held)

    def died(self, batch: Work, death: Death, place: str = "", *, alone: bool = False) -> None:
        """Note that a worker died of a batch; any thread may say so.

        Parameters
        ----------
        alone : whether nobody else was at work.
        """
        with self._lock:
            self._deaths.append((time.monotonic(), place, death))
            self.suspects.append(Suspect(batch, death, alone=alone))

    def answered(self, answer: Answer, take: TakeResults, place: str = "") -> None:
        """Pass on what can be believed of an answer, and hold its failures."""
        believed, doubtful = answer.split()
        if doubtful is not None:
            self._held.append((doubtful, take, place))
        if believed:
            take(believed)

    def settle(self, *, now: bool = False) -> None:
        """Pass on the failures that have been held for long enough, or all; suspect those near a death."""
        while self._held and (now or self._held[0][0].when < time.monotonic() - TROUBLE_SECONDS):
            answer, take, place = self._held.popleft()
            death = self._near(answer, place)
            if death is None:
                take(answer.results)
            else:
                self.suspects.append(Suspect(answer.batch, death, own=False))

    def _near(self, answer: Answer, place: str) -> Death | None:
        """Return the first death that was at about the time of an answer, on its device."""
        with self._lock:
            for when, where, death in self._deaths:
                if where == place and abs(when - answer.when) <= TROUBLE_SECONDS:
                    return death
        return None

    def judged_alone(
        self, suspect: Suspect, answer: list[Result] | Death, take: TakeResults, place: str = ""
    ) -> None:
        """Pass on what judging a suspect alone came to, or suspect its parts."""
        results, parts = suspect.after(answer)
        self.suspects.extendleft(reversed(parts))
        if not results:
            return
        take([doubted(result, self._hung.get(place, "")) for result in results])
        if isinstance(answer, Death) and self._is_gpu:
            self._hung.setdefault(place, results[0].case)
