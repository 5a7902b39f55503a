"""A worker process like `worker`, that takes every stage for one with subgroup operations."""

from __future__ import annotations

from functools import partial

from vkgroup.conformance.messages import serve_and_leave
from vkgroup.conformance.mutants.judging import judge_group
from vkgroup.conformance.worker import serve
from vkgroup.device import query


def take_every_stage() -> None:
    """Let devices that are opened from now on count every stage among their supported ones."""
    names_of = query.names_of
    query.names_of = lambda flags, bits: tuple(bits) if bits is query.STAGES else names_of(flags, bits)


if __name__ == "__main__":
    take_every_stage()
    serve_and_leave(partial(serve, judge=judge_group))
