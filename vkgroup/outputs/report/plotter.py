"""The process that draws charts: a chart that crashes the drawing library costs this chart, not the report.

vl-convert ends its process on some inputs. Run as a program, this module is the worker: it answers each
Vega-Lite specification (JSON) with its SVG, or with an exception.
"""

from __future__ import annotations

import select
import subprocess
from contextlib import suppress
from types import TracebackType
from typing import IO

from vkgroup.base import processes
from vkgroup.base.errors import VkgroupError

WORKER = "vkgroup.outputs.report.plotter"

SECONDS = 60.0
"""Time limit in seconds for one chart, including the start of the process."""


class NotDrawn(VkgroupError):
    """A chart that the drawing library cannot draw; the message is the reason."""


class Plotter:
    """Draws charts in a worker process, which is started for the first chart, and again after a crash."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Plotter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._end()

    def draw(self, spec: str) -> str:
        """Return the SVG of a Vega-Lite specification in JSON; raise NotDrawn if that is impossible."""
        try:
            answer = self._answer(spec)
        except TimeoutError:
            self._end()
            raise NotDrawn(f"vl-convert took longer than {SECONDS:g} s") from None
        except (OSError, EOFError):
            code = self._end()
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise NotDrawn(f"vl-convert crashed ({how})") from None
        if not isinstance(answer, str):
            raise NotDrawn(f"vl-convert reports: {answer}")
        return answer

    def _answer(self, spec: str) -> object:
        process = self._process = self._process or _started()
        assert process.stdin is not None
        assert process.stdout is not None
        processes.send(process.stdin, spec)
        answers = select.poll()
        answers.register(process.stdout, select.POLLIN)
        if not answers.poll(1000 * SECONDS):
            raise TimeoutError
        return processes.receive(process.stdout)

    def _end(self) -> int:
        """End the process; return its exit code, which is negative for a signal."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                assert stream is not None
                stream.close()
        try:
            return process.wait(timeout=1)  # a crashed process ends by itself, and so does one without input
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        processes.command(WORKER),
        env=processes.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer each specification with its SVG, or with the exception."""
    import vl_convert

    while True:
        try:
            spec = processes.receive(requests)
        except EOFError:
            return
        try:
            answer: object = str(vl_convert.vegalite_to_svg(spec))
        except Exception as error:
            answer = ValueError(str(error))
        processes.send(answers, answer)


if __name__ == "__main__":
    processes.serve_and_leave(serve)
