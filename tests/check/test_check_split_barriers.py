"""Split barriers (VK_EXT_shader_split_barrier): what they order, and the rules of arrivals and waits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vkgroup.check import check

pytestmark = pytest.mark.usefixtures("tint")  # for the current glslang beside it, whose validator knows them

_START = """#version 460
#extension GL_EXT_spirv_intrinsics : require
#extension GL_KHR_shader_subgroup_basic : require
spirv_instruction(extensions = ["SPV_EXT_split_barrier"], capabilities = [6141], id = 6142)
void arrive(int execution, int memory, int semantics);
spirv_instruction(extensions = ["SPV_EXT_split_barrier"], capabilities = [6141], id = 6143)
void wait(int execution, int memory, int semantics);
#define ARRIVE arrive(2, 2, 0x104)
#define WAIT wait(2, 2, 0x102)
#define ARRIVE_SUBGROUP arrive(3, 3, 0x104)
#define WAIT_SUBGROUP wait(3, 3, 0x102)
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) writeonly buffer B { uint b[]; };
shared uint s[64];
void main() {
    uint i = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x, x = 0u;
    s[i] = a[g];
    %s
    b[g] = x;
}
"""

Written = Callable[..., Path]


def _kinds(written: Written, body: str, **options: Any) -> list[str]:
    """Return the kinds of the findings, each with the rule that its message names."""
    report = check(written(_START % body), **options)
    rules = (
        f"{finding.kind} {finding.message.rpartition('-')[2].rstrip(')')}" for finding in report.findings
    )
    return [rule if rule.startswith("barrier 13") else rule.split()[0] for rule in rules]


@pytest.mark.parametrize(
    "body",
    [
        "ARRIVE; x = i * 3u; WAIT; x += s[63u - i];",
        "for (uint k = 0u; k < 4u; k++) { ARRIVE; x += k; WAIT; x += s[(i + k) % 64u]; }",
        "ARRIVE; s[i] += 1u; WAIT; barrier(); x = s[63u - i];",
        "ARRIVE; ARRIVE_SUBGROUP; WAIT_SUBGROUP; WAIT; x = s[63u - i];",
    ],
)
def test_a_wait_orders_what_was_before_the_arrival(body: str, written: Written) -> None:
    assert _kinds(written, body) == []


@pytest.mark.parametrize(
    "body",
    [
        "ARRIVE; x = s[63u - i]; WAIT;",  # between the arrival and the wait
        "ARRIVE; s[i] = 7u; WAIT; x = s[63u - i];",  # written after the arrival
        "arrive(2, 2, 0); WAIT; x = s[63u - i];",  # nothing is released
        "ARRIVE; wait(2, 2, 0); x = s[63u - i];",  # nothing is acquired
        "ARRIVE_SUBGROUP; WAIT_SUBGROUP; x = s[63u - i];",  # of the subgroup only
    ],
)
def test_what_it_does_not_order_is_a_race(body: str, written: Written) -> None:
    assert _kinds(written, body, sizes=[16]) == ["race"]


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("WAIT;", "barrier 13559"),
        ("ARRIVE_SUBGROUP; WAIT;", "barrier 13559"),
        ("ARRIVE; WAIT; WAIT;", "barrier 13560"),
        ("ARRIVE; ARRIVE; WAIT;", "barrier 13561"),
        ("ARRIVE_SUBGROUP; ARRIVE_SUBGROUP; WAIT_SUBGROUP;", "barrier 13561"),
    ],
)
def test_arrivals_and_waits_come_in_turns(body: str, rule: str, written: Written) -> None:
    assert rule in _kinds(written, body)


@pytest.mark.parametrize("body", ["if (i < 32u) ARRIVE; WAIT;", "ARRIVE; if (i < 32u) WAIT;"])
def test_both_are_in_uniform_control_flow(body: str, written: Written) -> None:
    assert "barrier" in _kinds(written, body)
