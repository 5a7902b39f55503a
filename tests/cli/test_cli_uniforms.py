"""``vkgroup run --dialect gl``: uniforms and atomic counters by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vkgroup.cli.main import main
from vkgroup.drivers import CachedDriver

_SOURCE = """
#version 430
layout(local_size_x = 4) in;
struct Light { vec3 color; bool on; };
uniform float scale = 3.0;
uniform mat2 matrix;
uniform Light lights[2];
layout(binding = 1, offset = 4) uniform atomic_uint large;
layout(std430, binding = 0) buffer Data { float data[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    data[i] = data[i] * scale + matrix[1][0] + lights[1].color.y + (lights[1].on ? 1000.0 : 0.0);
    if (data[i] > 20.0) { atomicCounterIncrement(large); }
}
"""


@pytest.fixture
def shader(tmp_path: Path) -> str:
    np.save(tmp_path / "data.npy", np.arange(8, dtype=np.float32))
    file = tmp_path / "scale.comp"
    file.write_text(_SOURCE)
    return str(file)


def _run(shader: str, *arguments: str, device: str = "reference") -> int:
    folder = Path(shader).parent
    bindings = ["--in", f"Data={folder}/data.npy", "--out", f"Data={folder}/found.npy"]
    counters = ["--out", f"large=uint[2]:{folder}/counters.npy"]
    options = ["--dialect", "gl", "--groups", "2", "--device", device]
    return main(["run", shader, *options, *bindings, *counters, *arguments])


@pytest.mark.parametrize("device", ["swiftshader", "reference"])
def test_uniforms_by_name(shader: str, device: str, swiftshader: CachedDriver) -> None:
    uniforms = ("scale=2", "matrix=1,2,3,4", "lights[1].color=0,5,0", "lights[1].on=true")
    arguments = [word for text in uniforms for word in ("--uniform", text)]
    assert _run(shader, *arguments, device=device) == 0
    found = np.load(Path(shader).parent / "found.npy")
    assert found.tolist() == [2 * value + 3 + 5 + 1000 for value in range(8)]
    assert np.load(Path(shader).parent / "counters.npy").tolist() == [0, 8]


def test_uniforms_of_one_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without file the results are printed."""
    file = tmp_path / "sum.comp"
    file.write_text(
        """
        #version 430
        layout(local_size_x = 1) in;
        uniform float first, second = 0.5;
        layout(std430, binding = 0) buffer Found { float found; };
        void main() { found = first + second; }
        """
    )
    options = ["--dialect", "gl", "--groups", "1", "--device", "reference", "--uniform", "first=2"]
    assert main(["run", str(file), *options, "--out", "Found=float[1]"]) == 0
    assert capsys.readouterr().out == "Found = [2.5]\n"


def test_initialisers_where_nothing_is_given(shader: str) -> None:
    assert _run(shader) == 0
    assert np.load(Path(shader).parent / "found.npy").tolist() == [3 * value for value in range(8)]
    assert np.load(Path(shader).parent / "counters.npy").tolist() == [0, 1]


@pytest.mark.parametrize(
    ("uniform", "words"),
    [
        ("scal=1", "Did you mean 'scale'"),
        ("scale=1,2", "a float"),
        ("matrix=1,2,3", "mat2"),
        ("scale=one", "neither a number"),
    ],
)
def test_wrong_uniforms_are_bad_input(
    shader: str, uniform: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(shader, "--uniform", uniform) == 2
    assert words in capsys.readouterr().err


def test_uniforms_need_the_dialect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "nothing.comp"
    file.write_text("#version 450\nvoid main() { }\n")
    options = ["--groups", "1", "--device", "reference", "--uniform", "scale=1"]
    assert main(["run", str(file), *options]) == 2
    assert "dialect gl" in capsys.readouterr().err


def test_stages_of_a_draw_share_uniforms(tmp_path: Path) -> None:
    """With --vertex both shaders are linked."""
    (tmp_path / "show.frag").write_text(
        """
        #version 430
        uniform vec2 values;
        layout(location = 0) out float color;
        void main() { color = values.y; }
        """
    )
    (tmp_path / "corners.vert").write_text(
        """
        #version 430
        uniform vec2 values;
        uniform float other;
        layout(location = 0) in vec2 position;
        void main() { gl_Position = vec4(position * values.x * other, 0.0, 1.0); }
        """
    )
    np.save(tmp_path / "corners.npy", np.array([[-1, -1], [3, -1], [-1, 3]], np.float32))
    vertices = ["--vertex", str(tmp_path / "corners.vert"), "--vertices", f"position={tmp_path}/corners.npy"]
    uniforms = ["--uniform", "values=0.5,7", "--uniform", "other=2"]
    options = [
        "--dialect",
        "gl",
        "--device",
        "reference",
        "--size",
        "4,4",
        "--out",
        f"color={tmp_path}/c.npy",
    ]
    assert main(["run", str(tmp_path / "show.frag"), *options, *vertices, *uniforms]) == 0
    assert (np.load(tmp_path / "c.npy") == 7).all()
