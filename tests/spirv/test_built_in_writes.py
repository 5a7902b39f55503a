"""Built-in outputs that a module writes, and those that it only declares."""

from __future__ import annotations

import pytest

from vkgroup.compiler import compile_source
from vkgroup.spirv import writes_built_in


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("gl_Position = vec4(0.0);", False),
        ("gl_Position = vec4(0.0); gl_PointSize = 1.0;", True),
        ("gl_Position = vec4(gl_PointSize);", True),
        ("if (gl_VertexIndex > 9) gl_PointSize = 2.0;", True),
    ],
)
def test_the_size_of_points(body: str, written: bool) -> None:
    module = compile_source(f"#version 450\nvoid main() {{ {body} }}", stage="vertex")
    assert writes_built_in(module, "PointSize") is written


def test_a_variable_of_its_own_counts_where_it_is_stored_to() -> None:
    source = "#version 450\nvoid main() { gl_FragDepth = 0.5; }"
    module = compile_source(source, stage="fragment")
    assert writes_built_in(module, "FragDepth")
    assert not writes_built_in(module, "SampleMask")
