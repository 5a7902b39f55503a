"""The note on generated inputs: only on findings that these inputs can influence."""

from __future__ import annotations

import pytest

_NOTE = "some inputs were generated"


def _shader(body: str) -> str:
    return f"""#version 460
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(push_constant) uniform P {{ uint n; uint m; }} p;
layout(binding = 0) readonly buffer A {{ uint a[]; }};
layout(binding = 1) buffer B {{ uint b[]; }};
shared uint s[64];
uint quotient(uint x) {{ return 7u / x; }}
void main() {{
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex;
    {body}
}}
"""


@pytest.mark.parametrize(
    ("body", "noted"),
    [
        ("b[i] = 7u / gl_SubgroupID;", False),
        ("b[i] = a[i] + 7u / (l & 1u);", False),
        ("b[i] = 7u / (a[i] & 1u);", True),
        ("if (p.n > 2u) b[i] = 7u / (l & 1u);", True),
        ("if (p.n > 2u) b[i] = 1u; b[i] += 7u / (l & 1u);", False),
        ("if (p.n < 2u) return; b[i] = 7u / (l & 1u);", True),
        ("for (uint k = 0; k < p.n; k++) b[i] = 7u / (l & 1u);", True),
        ("b[i] = quotient(l & 1u);", False),
        ("if (a[i] > 0u) b[i] = quotient(l & 1u);", True),
        ("s[l] = l; barrier(); b[i] = s[l + 1u];", False),
        ("s[l + 1u] = a[i];", False),
        ("s[l + 60u + a[i] / 8u] = 1u;", True),
    ],
)
def test_the_note_stands_where_generated_inputs_have_influence(body, noted, checked, written) -> None:
    report = checked(written(_shader(body)), "--subgroup-size", "32")
    assert report["findings"]
    notes = [note["message"] for finding in report["findings"] for note in finding["notes"]]
    assert any(note.startswith(_NOTE) for note in notes) is noted


@pytest.mark.parametrize("given", ["n", "m"])
def test_a_given_push_constant_is_not_generated(given, checked, written) -> None:
    text = _shader("if (p.n > 2u) b[i] = 7u / (l & 1u);")
    report = checked(written(text), "--subgroup-size", "32", "--push", f"{given}=7")
    notes = [note["message"] for finding in report["findings"] for note in finding["notes"]]
    assert any(note.startswith(_NOTE) for note in notes) is (given == "m")


@pytest.mark.parametrize(("options", "noted"), [((), True), (("--groups", "2,2"), False)])
def test_a_race_of_workgroups_says_that_their_number_was_chosen(options, noted, checked, written) -> None:
    source = """#version 460
layout(local_size_x = 64) in;
layout(binding = 1) buffer B { uint b[]; };
void main() { b[gl_GlobalInvocationID.y * 64 + gl_GlobalInvocationID.x] = gl_GlobalInvocationID.x; }
"""
    (race,) = checked(written(source), "--subgroup-size", "32", *options)["findings"]
    chosen = [note["message"] for note in race["notes"] if "workgroups were chosen" in note["message"]]
    assert bool(chosen) is noted
    assert all("--groups" in note for note in chosen)
