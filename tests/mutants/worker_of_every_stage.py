"""A worker process like `worker`, that takes every stage for one with subgroup operations."""

from __future__ import annotations

from functools import partial

from mutants.judging import judge_group
from vkgroup.conformance.messages import serve_and_leave
from vkgroup.conformance.worker import serve
from vkgroup.device import query

_names_of = query.names_of


def names_with_every_stage(flags: int, bits: dict[str, int]) -> tuple[str, ...]:
    """Return what `query.names_of` returns, but every stage where it is asked for stages."""
    return tuple(bits) if bits is query.STAGES else _names_of(flags, bits)


def take_every_stage() -> None:
    """Let devices that are opened from now on count every stage among their supported ones."""
    query.names_of = names_with_every_stage


if __name__ == "__main__":
    take_every_stage()
    serve_and_leave(partial(serve, judge=judge_group))
