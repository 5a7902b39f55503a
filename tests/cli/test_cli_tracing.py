"""``vkgroup run x.rgen``: rays from the command line, and what makes no sense there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vkgroup.cli.main import main
from vkgroup.drivers import CachedDriver

HEAD = "#version 460\n#extension GL_EXT_ray_tracing : require\n"
RAYGEN = (
    HEAD
    + """layout(set = 0, binding = 0) uniform accelerationStructureEXT scene;
layout(set = 0, binding = 1) buffer Result { uint result[]; };
layout(location = 0) rayPayloadEXT uint payload;
layout(location = 1) callableDataEXT uint data;
layout(constant_id = 0) const float Z = 1.0;
layout(push_constant) uniform Push { uint more; };
void main() {
    uvec3 at = gl_LaunchIDEXT;
    vec3 from = vec3(float(at.x) + 0.5, 0.5, -1.0);
    payload = 0u;
    traceRayEXT(scene, 0u, 0xFFu, 0u, 0u, at.x / 3u, from, 0.0, vec3(0.0, 0.0, Z), 9.0, 0);
    data = payload;
    executeCallableEXT(0u, 1);
    result[at.x + gl_LaunchSizeEXT.x * (at.y + gl_LaunchSizeEXT.y * at.z)] = data + more;
}"""
)
PAYLOAD = HEAD + "layout(location = 0) rayPayloadInEXT uint payload;\n"
FILES = {
    "a.rgen": RAYGEN,
    "a.rmiss": PAYLOAD + "void main() { payload = 1u; }",
    "b.rmiss": PAYLOAD + "void main() { payload = 2u; }",
    "a.rchit": PAYLOAD + "void main() { payload = 10u + payload; }",
    "a.rahit": PAYLOAD + "void main() { payload = 7u; }",
    "a.rint": HEAD + "void main() { reportIntersectionEXT(1.5, 0u); }",
    "a.rcall": HEAD + "layout(location = 1) callableDataInEXT uint data; void main() { data *= 2u; }",
    "a.frag": "#version 450\nlayout(location = 0) out vec4 color; void main() { color = vec4(1.0); }",
}
# Over the first two of four places.
WALL = np.array([[[0, 0, 0], [2, 0, 0], [0, 2, 0]], [[2, 0, 0], [2, 2, 0], [0, 2, 0]]], np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lavapipe: CachedDriver) -> Path:
    """A folder with shaders and scenes, in which the command runs, on lavapipe."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VKGROUP_DEVICE", lavapipe.name)
    for name, source in FILES.items():
        (tmp_path / name).write_text(source)
    np.save(tmp_path / "wall.npy", WALL)
    np.save(tmp_path / "boxes.npy", np.array([[[0, 0, 0], [2, 2, 1]]], np.float32))
    return tmp_path


RUN = "a.rgen --size 4,2 --in scene=wall.npy --out result=uint[8] --callable a.rcall --push more=100"
RUN += " --miss a.rmiss"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--miss b.rmiss", [100, 100, 102, 104] * 2),
        ("--miss b.rmiss --closest-hit a.rchit --any-hit a.rahit", [134, 134, 102, 104] * 2),
        ("--miss b.rmiss --spec Z=-1", [102, 102, 102, 104] * 2),
    ],
)
def test_rays_are_traced(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, expected: list[int]
) -> None:
    assert main(["run", *RUN.split(), *words.split()]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out == f"result = {expected}\n"


def test_boxes_depths_and_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = RUN.replace("wall", "boxes").replace("4,2", "2,2,2").replace("uint[8]", "uint[2,2,2]:r.npy")
    options = "--intersection a.rint --any-hit a.rahit --closest-hit a.rchit --max-recursion 1"
    assert main(["run", *words.split(), *options.split()]) == 0, capsys.readouterr().err
    assert (np.load("r.npy") == np.full((2, 2, 2), 134)).all()


def test_a_module_is_traced_where_an_option_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "a.rgen", "-o", "a.spv"]) == 0
    assert "SPIR-V 1.5" in capsys.readouterr().out
    words = RUN.replace("a.rgen", "a.spv").split()
    assert main(["run", *words, "--miss", "b.rmiss"]) == 0, capsys.readouterr().err
    assert "result = [100, 100, 102, 104" in capsys.readouterr().out


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("a.r")])
def test_every_stage_compiles(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    for target, version in (("1.1", "1.4"), ("1.2", "1.5"), ("1.3", "1.6")):
        assert main(["compile", name, "--target", target]) == 0
        assert f"SPIR-V {version}," in capsys.readouterr().out
    assert main(["compile", name, "--target", "1.0"]) == 2


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ("a.rgen --in scene=wall.npy", 2, "needs --size W,H[,D]"),
        ("a.rgen --groups 4 --in scene=wall.npy", 2, "needs --size W,H[,D]"),
        ("a.rgen --size 4,0", 2, "give two or three numbers of at least 1"),
        (f"{RUN} --vertex a.vert", 2, "--vertex: only for draws"),
        (f"{RUN} --full-subgroups", 2, "only for compute shaders"),
        (f"{RUN} --closest-hit a.rahit --any-hit nothing.rahit", 2, "cannot be read"),
        ("a.frag --size 4,4 --miss a.rmiss", 2, "raygen is needed"),
        ("a.frag --size 4,4,4", 2, "A draw's size is"),
        ("a.rgen --size 4,2 --out result=r.npy", 2, "needs its type and size"),
        (f"{RUN} --intersection a.rint", 2, "that is for boxes"),
        (f"{RUN} --max-recursion 99", 3, "maxRayRecursionDepth of 99"),
        (f"{RUN} --device reference", 3, "rayTracingPipeline"),
    ],
)
def test_what_makes_no_sense(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, code: int, text: str
) -> None:
    try:
        found = main(["run", *words.split()])
    except SystemExit as error:
        found = int(error.code or 0)
    captured = capsys.readouterr()
    assert (found, captured.out) == (code, "")
    assert text in captured.err
    assert "Traceback" not in captured.err
