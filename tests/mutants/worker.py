"""Worker process that judges groups of mutants; see `vkgroup.conformance.worker`."""

from __future__ import annotations

from functools import partial

from mutants.judging import judge_group
from vkgroup.conformance.messages import serve_and_leave
from vkgroup.conformance.worker import serve

if __name__ == "__main__":
    serve_and_leave(partial(serve, judge=judge_group))
