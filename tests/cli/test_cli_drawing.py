"""``vkgroup run … --size``: what makes no sense is exit code 2 or 3 with a reason, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vkgroup.cli.main import main
from vkgroup.drivers import CachedDriver

WHITE = "#version 450\nlayout(location = 0) out vec4 color; void main() { color = vec4(1.0); }"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a shader and files that are none, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "white.frag").write_text(WHITE)
    (tmp_path / "bytes.frag").write_bytes(bytes(range(128, 256)))
    (tmp_path / "bytes.spv").write_bytes(bytes(range(128)))
    (tmp_path / "wrong.spvasm").write_text("OpCapability Shader\nOpFoo %x\n")
    (tmp_path / "fill.comp").write_text("#version 450\nvoid main() {}")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "doubles.npy", np.zeros((4, 4)))
    return tmp_path


def run(*words: str) -> int:
    return main(["run", *words, "--device", "reference"])


def test_a_draw_writes_its_files(folder: Path) -> None:
    code = run(
        "white.frag", "--size", "4,2", "--depth", "d32f", "--out", "color=c.npy", "--out", "depth=d.npy"
    )
    assert code == 0
    assert (np.load("c.npy") == np.ones((2, 4, 4))).all()
    assert (np.load("d.npy") == np.zeros((2, 4))).all()


VERTEX = """#version 450
layout(location = 0) in vec2 at;
void main() { gl_Position = vec4(at, 0.0, 1.0); }"""

CONTROL = """#version 450
layout(vertices = 4) out;
void main() {
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
    gl_TessLevelOuter = float[](1.0, 1.0, 1.0, 1.0);
    gl_TessLevelInner = float[](1.0, 1.0);
}"""

EVALUATION = """#version 450
layout(quads) in;
void main() { gl_Position = mix(gl_in[0].gl_Position, gl_in[3].gl_Position, vec4(gl_TessCoord.xyxx)); }"""

GEOMETRY = """#version 450
layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;
void main() {
    for (int i = 0; i < 3; ++i) {
        gl_Position = gl_in[i].gl_Position * vec4(0.5, 1.0, 1.0, 1.0) - vec4(0.5, 0.0, 0.0, 0.0);
        EmitVertex();
    }
}"""


def test_a_draw_has_all_stages(
    folder: Path, lavapipe: CachedDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    """A patch that covers the image, which the geometry shader squeezes into its left half."""
    files = {"a.vert": VERTEX, "a.tesc": CONTROL, "a.tese": EVALUATION, "a.geom": GEOMETRY}
    for name, source in files.items():
        (folder / name).write_text(source)
    np.save("at.npy", np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32))
    words = "run white.frag --size 4,2 --vertex a.vert --tessellation a.tesc a.tese --patch-vertices 4"
    words += f" --geometry a.geom --vertices at=at.npy --out color=c.npy --device {lavapipe.name}"
    assert main(words.split()) == 0, capsys.readouterr().err
    assert np.load("c.npy")[..., 0].tolist() == [[1, 1, 0, 0]] * 2
    assert main([*words.split(), "--dialect", "gl"]) == 2
    assert "omit the other stages" in capsys.readouterr().err


MESH = """#version 460
#extension GL_EXT_mesh_shader : require
layout(local_size_x = 3) in;
layout(triangles, max_vertices = 3, max_primitives = 1) out;
void main() {
    SetMeshOutputsEXT(3, 1);
    vec2 at = vec2[](vec2(-1.0, -1.0), vec2(3.0, -1.0), vec2(-1.0, 3.0))[gl_LocalInvocationIndex];
    gl_MeshVerticesEXT[gl_LocalInvocationIndex].gl_Position = vec4(at, 0.0, 1.0);
    gl_PrimitiveTriangleIndicesEXT[0] = uvec3(0, 1, 2);
}"""


def test_a_draw_has_a_mesh_shader(
    folder: Path, lavapipe: CachedDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.mesh").write_text(MESH)
    words = f"run white.frag --size 4,2 --mesh a.mesh --out color=c.npy --device {lavapipe.name}".split()
    assert main([*words, "--groups", "2"]) == 0, capsys.readouterr().err
    assert (np.load("c.npy") == 1).all()
    assert main(words) == 2
    assert "need groups" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("white.frag --size 4,4 --groups 1", "or both"),
        ("fill.comp --groups 1 --mesh a.mesh", "only for draws"),
        ("fill.comp --groups 1 --geometry a.geom", "only for draws"),
        ("white.frag --size 4,4 --geometry nothing.geom", "cannot be read"),
        ("white.frag --size 4,4 --topology patches", "both shaders of"),
        ("bytes.frag --size 4,4", "not UTF-8"),
        ("bytes.spv --size 4,4", "not a SPIR-V module"),
        ("wrong.spvasm --size 4,4", "OpFoo"),
        ("nothing.frag --size 4,4", "cannot be read"),
        ("white.frag --size 4,4 --vertex nothing.vert", "cannot be read"),
        ("white.frag --size 4,4 --color color=rgba9", "no image format"),
        ("white.frag --size 4,4 --color color=objects.npy", "allow_pickle"),
        ("white.frag --size 4,4 --color color=doubles.npy", "no format for floats"),
        ("white.frag --size 4,4 --color color=rgba8 --color color=rgba16f", "given twice"),
        ("white.frag --size 4,4 --depth d24", "no image format"),
        ("white.frag --size 4,4 --depth doubles.npy", "float32 or uint16"),
        ("white.frag --size 4,4 --count 4294967296", "count is a whole number"),
        ("white.frag --size 4,4 --topology points --vertex white.vert", "cannot be read"),
        ("white.frag --size 4,4 --subgroup-size 7", "power of two"),
        ("white.frag --size 4,4 --full-subgroups", "only for compute shaders"),
        ("white.frag --size 4,4 --uniform scale=1", "no uniforms outside of blocks"),
        ("white.frag --size 4,4 --push a=1 --push a=2", "given twice"),
        ("white.frag --size 4,4 --spec 0=1 --spec 0=2", "given twice"),
        ("white.frag --size 4,4 --out color=a.npy --out color=b.npy", "given twice"),
        ("white.frag --size 4,4 --out color=no/where.npy", "no folder"),
        ("white.frag --size 4,4 --out other=a.npy", "writes no binding"),
        ("white.frag --size 4,4 --out colour=a.npy", "There are: color. Did you mean 'color'?"),
        ("white.frag --groups 1 --out color=a.npy", "an output of a fragment shader needs --size W,H"),
        ("fill.comp --groups 1 --depth d32f --samples 4", "--depth, --samples: only for draws"),
        ("fill.comp --size 4,4", "fragment shader"),
        ("white.frag --groups 1", "compute is needed"),
        ("white.frag --groups 1 --size 4,4", "--groups X,Y,Z to run"),
    ],
)
def test_bad_input_is_exit_code_two(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, text: str
) -> None:
    assert run(*words.split()) == 2
    assert text in capsys.readouterr().err


def test_what_the_device_lacks_is_exit_code_three(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("white.frag", "--size", "99999999,1") == 3
    assert "maxFramebufferWidth" in capsys.readouterr().err


@pytest.mark.parametrize("size", ["0,4", "4", "4,4,4,4", "4.5,4", "a,b", "", "-1,4"])
def test_sizes_that_are_none(folder: Path, size: str) -> None:
    with pytest.raises(SystemExit) as caught:
        run("white.frag", f"--size={size}")
    assert caught.value.code == 2
