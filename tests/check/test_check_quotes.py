"""Quoted source lines of findings in sources with `#line` directives, and macros with parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

_HEAD = """#version 460
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 8) in;
layout(binding = 0) buffer B { uint b[]; };
"""
_BODY = """shared uint t[8];
void main() {
    uint i = gl_LocalInvocationIndex;
    b[i] = t[7u - i];
}
"""
_DECLARATION, _STORE = "shared uint t[8];", "    b[i] = t[7u - i];"


def _quotes(report: dict[str, Any]) -> list[tuple[str, int, str]]:
    (finding,) = report["findings"]
    places = [finding["place"], *(note["place"] for note in finding["notes"] if note["place"])]
    return [(Path(place["file"]).name, place["line"], place["text"]) for place in places]


@pytest.mark.parametrize("directive", ["#line 100", "#line 100 7", "# line 100"])
def test_a_line_number_counts_from_its_directive(directive: str, checked, written) -> None:
    report = checked(written(f"{_HEAD}{directive}\n{_BODY}"), "--subgroup-size", "8")
    assert _quotes(report) == [("shader.comp", 100, _DECLARATION), ("shader.comp", 103, _STORE)]


def test_the_directive_itself_is_not_quoted(checked, written) -> None:
    # The lines 6 (the directive) and 9 both have the number 6.
    report = checked(written(f"{_HEAD}#line 3\n{_BODY}"), "--subgroup-size", "8")
    assert _quotes(report) == [("shader.comp", 3, _DECLARATION), ("shader.comp", 6, _STORE)]


def test_a_named_file_is_quoted_from_the_folder_of_the_shader(checked, written) -> None:
    file = written(f'{_HEAD}#line 3 "template.glsl"\n{_BODY}')
    template = _BODY.replace("uint i =", "uint i = /* template */").replace("b[i] =", "B[i] =")
    (file.parent / "template.glsl").write_text(f"// one\n// two\n{template}")
    assert _quotes(checked(file, "--subgroup-size", "8")) == [
        ("template.glsl", 3, _DECLARATION),
        ("template.glsl", 6, _STORE.replace("b[i]", "B[i]")),
    ]


def test_a_named_file_that_cannot_be_read_is_not_quoted(checked, written) -> None:
    report = checked(written(f'{_HEAD}#line 3 "gone.glsl"\n{_BODY}'), "--subgroup-size", "8")
    assert _quotes(report) == [("gone.glsl", 3, ""), ("gone.glsl", 6, "")]


def test_directives_in_an_include_count_too(checked, written) -> None:
    file = written(f'{_HEAD}#include "body.glsl"\n')
    (file.parent / "body.glsl").write_text(f"// body\n#line 40\n{_BODY}")
    assert ("body.glsl", 43, _STORE) in _quotes(checked(file, "--subgroup-size", "8"))


def test_macros_with_parameters(checked, written) -> None:
    body = _BODY.replace("t[7u - i]", "TURNED(t, i)").replace("    b[i]", "    t[i] = i; barrier(); b[i]")
    report = checked(written(_HEAD + body), "-D", "TURNED(a,n)=a[7u - (n)]")
    assert report["findings"] == []
    (finding,) = checked(written(_HEAD + body), "-D", "TURNED(a,n)=a[8u - (n)]")["findings"]
    assert "-D 'TURNED(a,n)=a[8u - (n)]'" in finding["command"]


def test_unwritten_shared_memory_is_quoted_where_it_is_read(checked, written) -> None:
    text = """#version 460
layout(local_size_x = 64) in;
layout(binding = 0) buffer B { uint b[]; };
shared uint part[64];
void main() {
    uint t = gl_LocalInvocationIndex;
    if (t < 32u)
        part[t] = t;
    barrier();
    uint first = part[t / 2u];
    uint other = part[63u - t];
    b[gl_GlobalInvocationID.x] = first + other * 3u;
}
"""
    (finding,) = checked(written(text))["findings"]
    assert (finding["kind"], finding["place"]["line"]) == ("undefined", 4)
    notes = {note["message"]: note["place"]["line"] for note in finding["notes"] if note["place"]}
    assert notes["it is read here"] == 11
    assert notes["B holds an undefined value at the end: b[0]"] == 12


def test_the_constant_that_is_the_length_of_an_array_is_named(checked, written) -> None:
    text = """#version 460
layout(local_size_x = 64) in;
layout(constant_id = 3) const uint COUNT = 16u;
layout(constant_id = 4) const uint OTHER = 8u;
layout(binding = 0) buffer B { uint b[]; };
shared uint part[2][COUNT * 2u];
void main() {
    uint t = gl_LocalInvocationIndex;
    part[1][t] = OTHER;
    barrier();
    b[gl_GlobalInvocationID.x] = part[1][t];
}
"""
    (finding,) = checked(written(text))["findings"]
    assert finding["kind"] == "bounds"
    named = [note["message"] for note in finding["notes"] if "specialization constant" in note["message"]]
    assert named == [
        "the length is the specialization constant COUNT (id 3) = 16; if the host sets it, give its value:"
        " --spec 3=V"
    ]
    assert checked(written(text), "--spec", "3=32")["findings"] == []
