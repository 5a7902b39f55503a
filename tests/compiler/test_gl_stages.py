"""Parts of ARB_compute_shader in each stage and version of GLSL: compute shaders, barriers."""

from __future__ import annotations

import pytest

from vkgroup.base.errors import CompileError
from vkgroup.compiler import compile_source

LAYOUTS = {
    "vertex": "",
    "tessellation_control": "layout(vertices = 3) out;",
    "tessellation_evaluation": "layout(triangles) in;",
    "geometry": "layout(triangles) in; layout(points, max_vertices = 1) out;",
    "fragment": "",
    "compute": "layout(local_size_x = 4) in;",
}

EVERYWHERE = ("memoryBarrier", "memoryBarrierAtomicCounter", "memoryBarrierBuffer", "memoryBarrierImage")
IN_COMPUTE_SHADERS = ("memoryBarrierShared", "groupMemoryBarrier")


def compiles(source: str, stage: str) -> bool:
    try:
        compile_source(source, stage=stage, dialect="gl")
    except CompileError:
        return False
    return True


@pytest.mark.parametrize("stage", LAYOUTS)
def test_memory_barriers_by_stage(stage: str) -> None:
    """Two of the six exist in compute shaders alone (8.16)."""
    for function in (*EVERYWHERE, *IN_COMPUTE_SHADERS):
        source = f"#version 430\n{LAYOUTS[stage]}\nvoid main() {{ {function}(); }}"
        assert compiles(source, stage) is (function in EVERYWHERE or stage == "compute"), function


@pytest.mark.parametrize("stage", LAYOUTS)
def test_barriers_by_stage(stage: str) -> None:
    """barrier() exists in tessellation control and compute shaders (8.15)."""
    source = f"#version 430\n{LAYOUTS[stage]}\nvoid main() {{ barrier(); }}"
    assert compiles(source, stage) is (stage in ("tessellation_control", "compute"))


#: Where barrier() may stand in tessellation control and in compute shaders.
PLACES = {
    "main": ("void main() { barrier(); u(); }", True, True),
    "block of main": ("void main() { { barrier(); } u(); }", True, True),
    "before a return": ("void main() { u(); barrier(); return; }", True, True),
    "function": ("void f() { barrier(); } void main() { u(); f(); }", False, True),
    "if": ("void main() { if (u() > 0) { barrier(); } }", False, True),
    "else": ("void main() { if (u() > 0) { u(); } else { barrier(); } }", False, True),
    "for": ("void main() { for (int i = 0; i < u(); ++i) { barrier(); } }", False, True),
    "while": ("void main() { while (u() > 0) { barrier(); } }", False, True),
    "do": ("void main() { do { barrier(); } while (u() > 0); }", False, True),
    "switch": ("void main() { switch (u()) { case 0: barrier(); break; default: u(); } }", False, True),
    "after a return in a branch": ("void main() { if (u() > 0) { return; } barrier(); }", False, True),
    "after a return in the other": (
        "void main() { if (u() > 0) { u(); } else { return; } barrier(); }",
        False,
        True,
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_where_a_barrier_may_stand(place: str) -> None:
    """In tessellation control shaders in main() outside of control flow; in compute shaders anywhere."""
    code, in_tessellation, in_compute = PLACES[place]
    head = "uniform int level;\nint u() { return level; }\n"
    for stage, right in (("tessellation_control", in_tessellation), ("compute", in_compute)):
        assert compiles(f"#version 430\n{LAYOUTS[stage]}\n{head}{code}", stage) is right, stage


def test_where_a_barrier_may_not_stand_is_said() -> None:
    source = f"#version 430\n{LAYOUTS['tessellation_control']}\nvoid main() {{\n for (;;) {{ barrier(); }} }}"
    with pytest.raises(CompileError, match="flow control") as caught:
        compile_source(source, stage="tessellation_control", dialect="gl")
    assert caught.value.diagnostics[0].line == 4


@pytest.mark.parametrize(
    ("version", "extension", "right"),
    [
        ("430", "", True),
        ("420", "#extension GL_ARB_compute_shader : require", True),
        ("420", "#extension GL_ARB_compute_shader : enable", True),
        ("420", "", False),
        ("420", "#extension GL_ARB_compute_shader : disable", False),
        ("410", "#extension GL_ARB_compute_shader : require", False),
        ("330", "#extension GL_ARB_compute_shader : require", False),
    ],
)
def test_versions_that_have_compute_shaders(version: str, extension: str, right: bool) -> None:
    """GLSL 4.20 with the extension, and 4.30 without ("Dependencies")."""
    source = f"#version {version}\n{extension}\nlayout(local_size_x = 4) in;\nvoid main() {{}}"
    assert compiles(source, "compute") is right
