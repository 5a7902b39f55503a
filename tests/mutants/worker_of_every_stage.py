"""Worker process like `worker` that assumes subgroup operations in every stage."""

from __future__ import annotations

from functools import partial

from mutants.judging import judge_group
from vkgroup.conformance.messages import serve_and_leave
from vkgroup.conformance.worker import serve
from vkgroup.device import query
from vkgroup.spec.stages import STAGE_BITS

_names_of = query.names_of


def names_with_every_stage(flags: int, bits: dict[str, int]) -> tuple[str, ...]:
    """Return the result of `query.names_of`, but all stages if stages are queried."""
    return tuple(bits) if bits is STAGE_BITS else _names_of(flags, bits)


def assume_every_stage() -> None:
    """Make devices that are opened from now on support subgroup operations in every stage."""
    query.names_of = names_with_every_stage


if __name__ == "__main__":
    assume_every_stage()
    serve_and_leave(partial(serve, judge=judge_group))
