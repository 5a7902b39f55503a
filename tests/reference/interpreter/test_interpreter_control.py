"""Control flow: every construct against the same program in Python, invocation by invocation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from interpreting import interpret

SHADER = """
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Input {{ uint given[]; }};
layout(std430, binding = 1) writeonly buffer Output {{ uint result[]; }};
{functions}
void main() {{
    uint x = given[gl_GlobalInvocationID.x];
    uint y = 0u;
    {body}
    result[gl_GlobalInvocationID.x] = y;
}}
"""


def if_else(x: int) -> int:
    y = 0
    if x % 3 == 0:
        y = 5
        if x > 30:
            y += 7
    elif x % 3 == 1:
        y = 9
    return y


def for_break_continue(x: int) -> int:
    y = 0
    for k in range(x % 17):
        if k == 11:
            break
        if k % 3 == 1:
            continue
        y += k
    return y


def do_while(x: int) -> int:
    y, n = 0, x % 9
    while True:
        y += x
        if y > 200:
            break
        n, before = n - 1, n
        if before <= 0:
            break
    return y


def nested(x: int) -> int:
    y = 0
    for i in range(x % 5):
        k = i
        while k < x % 11:
            k += 2
            if k == 7:
                break
            for m in range(k % 3):
                if (m ^ i) & 1:
                    continue
                y += m + k
    return y


def switch(x: int) -> int:
    y, case = 0, x % 8
    if case == 0:
        y += 1
    if case in (0, 1):
        y += 10
    elif case == 3:
        return 100
    elif case in (4, 5):
        for k in range(4):
            y += 7
            if k == x % 4:
                break
    elif case != 2:
        y += 1000
    return y


def early_return(x: int) -> int:
    def inner(a: int) -> int:
        if a < 4:
            return a * 2
        for k in range(a):
            if k * k > a:
                return k
        return 77

    y = inner(x % 20)
    return y + inner(y)


def short_circuit(x: int) -> int:
    y = 0
    if x % 2 == 0 and 100 // max(x % 5, 1) > 30:
        y = 1
    if x % 3 == 0 or x % 7 == 1:
        y += 2
    return y + (4 if x > 50 else 8)


BODIES: dict[str, tuple[Callable[[int], int], str, str]] = {
    "if_else": (
        if_else,
        "",
        "if (x % 3u == 0u) { y = 5u; if (x > 30u) y += 7u; } else if (x % 3u == 1u) { y = 9u; }",
    ),
    "for_break_continue": (
        for_break_continue,
        "",
        "for (uint k = 0u; k < x % 17u; k++) { if (k == 11u) break; if (k % 3u == 1u) continue; y += k; }",
    ),
    "do_while": (
        do_while,
        "",
        "uint n = x % 9u; do { y += given[gl_GlobalInvocationID.x]; if (y > 200u) break; } while (n-- > 0u);",
    ),
    "nested": (
        nested,
        "",
        """for (uint i = 0u; i < x % 5u; i++) {
            uint k = i;
            while (k < x % 11u) {
                k += 2u;
                if (k == 7u) break;
                for (uint m = 0u; m < k % 3u; m++) { if (((m ^ i) & 1u) != 0u) continue; y += m + k; }
            }
        }""",
    ),
    "switch": (
        switch,
        "",
        """switch (x % 8u) {
            case 0u: y += 1u;
            case 1u: y += 10u; break;
            case 2u: break;
            case 3u: { result[gl_GlobalInvocationID.x] = 100u; return; }
            case 4u:
            case 5u: for (uint k = 0u; k < 4u; k++) { y += 7u; if (k == x % 4u) break; } break;
            default: y += 1000u;
        }""",
    ),
    "early_return": (
        early_return,
        """uint inner(uint a) {
            if (a < 4u) return a * 2u;
            for (uint k = 0u; k < a; k++) if (k * k > a) return k;
            return 77u;
        }""",
        "y = inner(x % 20u); y += inner(y);",
    ),
    "short_circuit": (
        short_circuit,
        "",
        """if (x % 2u == 0u && 100u / max(x % 5u, 1u) > 30u) y = 1u;
        if (x % 3u == 0u || x % 7u == 1u) y += 2u;
        y += x > 50u ? 4u : 8u;""",
    ),
}


@pytest.mark.parametrize("optimize", [False, "performance", "size"])
@pytest.mark.parametrize("subgroup_size", [1, 8, 128])
@pytest.mark.parametrize("name", BODIES)
def test_construct(name: str, subgroup_size: int, optimize: str | bool) -> None:
    expected, functions, body = BODIES[name]
    given = np.random.default_rng(3).integers(0, 100, 192).astype(np.uint32)
    result = np.full(192, 0xDEAD, np.uint32)
    source = SHADER.format(functions=functions, body=body)
    outcome = interpret(source, 3, given, result, optimize=optimize, subgroup_size=subgroup_size)
    assert outcome.events == ()
    assert result.tolist() == [expected(int(x)) for x in given]


def test_functions_with_out_and_inout_parameters() -> None:
    source = """
    layout(local_size_x = 8) in;
    layout(std430, binding = 0) buffer Data { ivec4 data[]; };
    void swap(inout int a, inout int b) { int t = a; a = b; b = t; }
    void split(int x, out ivec2 parts) { parts = ivec2(x / 10, x % 10); }
    void main() {
        ivec4 d = data[gl_LocalInvocationIndex];
        swap(d.x, d.w);
        if (d.y > 40) { ivec2 p; split(d.y, p); d.yz = p; }
        data[gl_LocalInvocationIndex] = d;
    }
    """
    data = np.random.default_rng(5).integers(0, 100, (8, 4)).astype(np.int32)
    expected = data.copy()
    expected[:, [0, 3]] = data[:, [3, 0]]
    large = data[:, 1] > 40
    expected[large, 1], expected[large, 2] = data[large, 1] // 10, data[large, 1] % 10
    interpret(source, 1, data)
    np.testing.assert_array_equal(data, expected)


def test_reconvergence_after_divergence() -> None:
    # After the branch all invocations are together again, in the loop those that still go round.
    source = """
    #extension GL_KHR_shader_subgroup_ballot : require
    layout(local_size_x = 16) in;
    layout(std430, binding = 0) buffer Masks { uint masks[3][16]; };
    void main() {
        uint lane = gl_SubgroupInvocationID;
        if (lane % 2u == 0u) masks[0][lane] = subgroupBallot(true).x;
        masks[1][lane] = subgroupBallot(true).x;
        for (uint k = 0u; k <= lane; k++) masks[2][lane] = subgroupBallot(true).x;
    }
    """
    masks = np.zeros((3, 16), np.uint32)
    interpret(source, 1, masks, subgroup_size=16)
    assert masks[0].tolist() == [0x5555, 0] * 8
    assert masks[1].tolist() == [0xFFFF] * 16
    assert masks[2].tolist() == [0xFFFF & ~((1 << lane) - 1) for lane in range(16)]


def test_values_that_leave_a_loop_are_those_of_the_last_round() -> None:
    source = """
    layout(local_size_x = 32) in;
    layout(std430, binding = 0) buffer Data { uint data[]; };
    void main() {
        uint i = gl_LocalInvocationIndex, v = 1u;
        for (uint k = 0u; ; k++) { v = v * 3u + k; if (k >= data[i]) break; }
        data[i] = v;
    }
    """

    def rounds(n: int) -> int:
        v = 1
        for k in range(n + 1):
            v = (v * 3 + k) & 0xFFFFFFFF
        return v

    for optimize in (False, "performance"):
        data = np.arange(32, dtype=np.uint32)[::-1] % 11
        expected = [rounds(int(n)) for n in data]
        interpret(source, 1, data, optimize=optimize)
        assert data.tolist() == expected


def test_slices_give_what_one_dispatch_gives() -> None:
    # More invocations than advance together.
    source = """
    layout(local_size_x = 64) in;
    layout(std430, binding = 0) buffer Data { uint data[]; };
    shared uint part[64];
    void main() {
        part[gl_LocalInvocationIndex] = data[gl_GlobalInvocationID.x];
        barrier();
        data[gl_GlobalInvocationID.x] = part[63u - gl_LocalInvocationIndex] + gl_WorkGroupID.x;
    }
    """
    count = 3 * (1 << 16) + 640
    data = np.random.default_rng(0).integers(0, 1 << 31, count).astype(np.uint32)
    expected = data.reshape(-1, 64)[:, ::-1] + np.arange(count // 64, dtype=np.uint32)[:, None]
    assert interpret(source, count // 64, data).events == ()
    np.testing.assert_array_equal(data, expected.reshape(-1))
