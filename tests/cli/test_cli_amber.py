"""``vkgroup run`` and ``vkgroup check`` of Amber scripts: files, folders, globs, exit codes, JUnit."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from amber.scripts import COLORED, START, write

from vkgroup.amber import ScriptStatus
from vkgroup.base.phases import DeadlineReached
from vkgroup.cli.amber import ScriptSession
from vkgroup.cli.main import main
from vkgroup.workers.opening import select

RUN = "RUN pipeline 1 1 1\n"
PASSES = f"{START}{RUN}EXPECT data IDX 0 EQ 2\n"
FAILS = f"{START}{RUN}EXPECT data IDX 0 EQ 3\n"
UNSUPPORTED = "#!amber\nSHADER ray_generation r GLSL\nvoid main() {}\nEND\n"
WRONG = "#!amber\nhello\n"


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A folder with one script of each outcome."""
    (tmp_path / "in").mkdir()
    for name, text in (("pass", PASSES), ("fail", FAILS), ("unsupported", UNSUPPORTED), ("in/wrong", WRONG)):
        write(tmp_path, text, f"{name}.amber")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: object, command: str = "run") -> tuple[int, str, str]:
    code = main([command, *map(str, words)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize(
    ("name", "code", "line"),
    [
        ("pass", 0, "pass: {}"),
        ("fail", 1, "fail: {}:14: data: value 0 is 2, expected EQ 3"),
        ("unsupported", 3, "not supported: {}:2: SHADER ray_generation is not supported"),
        ("in/wrong", 2, "error: {}:2: unknown statement 'hello'."),
    ],
)
def test_one_script(
    scripts: Path, capsys: pytest.CaptureFixture[str], name: str, code: int, line: str
) -> None:
    path = scripts / f"{name}.amber"
    found, out, _ = run(capsys, path, "--device", "reference:4")
    assert found == code
    assert out.splitlines()[0] == line.format(path)
    assert out.splitlines()[-1].startswith("1 script on vkgroup reference, subgroups of 4 in ")


@pytest.mark.parametrize("way", ["folder", "glob", "list"])
def test_several_scripts(scripts: Path, capsys: pytest.CaptureFixture[str], way: str) -> None:
    files = sorted(scripts.rglob("*.amber"))
    words = {"folder": [scripts], "glob": [f"{scripts}/**/*.amber"], "list": files}[way]
    junit, data = scripts / "found.xml", scripts / "found.json"
    code, out, _ = run(capsys, *words, "--device", "swiftshader", "--junit", junit, "--json", data)
    assert code == 1
    assert "4 scripts on SwiftShader" in out
    assert "1 pass, 1 fail, 1 not supported, 1 error" in out
    entries = {entry["script"]: entry["status"] for entry in json.loads(data.read_text())["scripts"]}
    assert entries == dict(zip(map(str, files), ["fail", "error", "pass", "not supported"], strict=True))
    suite = ElementTree.parse(junit).getroot()
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}


def test_what_a_device_lacks_is_no_error_beside_a_pass(
    scripts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [scripts / "pass.amber", scripts / "unsupported.amber"]
    assert run(capsys, *words, "--device", "reference")[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pass.amber", "--groups", "4"], "An Amber script is complete: omit --groups."),
        (["pass.amber", "--in", "x=y.npy", "--size", "4,4"], "omit --in, --size"),
        (["none/*.amber"], "matches no script"),
        (["pass.amber", "x.comp"], "x.comp is no Amber script"),
        (
            ["x.comp", "pass.amber"],
            "x.comp is no Amber script (.amber or .shader_test): name scripts only.",
        ),
        (["x.comp", "--groups", "1", "--junit", "f.xml"], "--junit: only for Amber scripts."),
        (["pass.amber", "--json", "none/f.json"], "none/f.json"),
    ],
)
def test_wrong_use(
    scripts: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(scripts)
    code, _, error = run(capsys, *words)
    assert code == 2
    assert message in error


@pytest.mark.parametrize(
    ("device", "status", "expected"), [("reference", "error", 2), ("swiftshader", "fail", 1)]
)
def test_a_script_without_an_end_is_late(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], device: str, status: str, expected: int
) -> None:
    endless = START.replace("data[gl_GlobalInvocationID.x] *= 2u;", "while (data[0] < 9u) { data[1]++; }")
    write(tmp_path, endless + RUN, "a.amber")
    write(tmp_path, PASSES, "b.amber")
    code, out, _ = run(capsys, tmp_path, "--device", device, "--jobs", "1", "--timeout", "3")
    assert code == expected
    assert "no end within 3 s" in out
    # The next script has a new process.
    assert f"1 pass, 1 {status}" in out


def test_check_of_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = START.replace(
        "#version 450\n", "#version 450\n#extension GL_KHR_shader_subgroup_arithmetic : require\n"
    ).replace("*= 2u", "= subgroupAdd(data[gl_GlobalInvocationID.x])")
    line = next(number for number, words in enumerate(text.split("\n"), 1) if "subgroupAdd" in words)
    # Without expectations, results must be the same at all sizes.
    path = write(tmp_path, text + RUN)
    code, out, _ = run(capsys, path, "--device", "none", command="check")
    assert code == 1
    assert "differs: the output depends on the subgroup size" in out
    assert f"{path}:{line}" in out
    # The script's buffer is the input: 1 + 2 + 3 + 4.
    assert "data[0] is 10 at size 32; 1 at size 1" in out
    # With them, they are met at all sizes, or the finding is where they are not.
    path = write(tmp_path, f"{text}{RUN}EXPECT data IDX 0 EQ 10\n")
    code, out, _ = run(capsys, path, "--device", "none", command="check")
    assert code == 1
    assert f"fail at subgroup size 1: {path}:15: data: value 0 is 1, expected EQ 10" in out
    assert "differs" not in out
    path = write(tmp_path, f"{text}{RUN}EXPECT data IDX 12 GE 4\n")
    assert run(capsys, path, "--device", "none", command="check")[0] == 0
    assert run(capsys, write(tmp_path, PASSES, "b.amber"), "--device", "none", command="check")[0] == 0


def test_check_names_accesses_outside_of_the_script_s_buffers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, f"{START}RUN pipeline 2 1 1\nEXPECT data IDX 0 EQ 2\n")
    code, out, _ = run(capsys, path, "--device", "none", command="check")
    assert code == 1
    assert "bounds: " in out


def test_check_of_a_fragment_shader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    undefined = COLORED.replace("color = light;", "vec4 never; color = light + never;")
    draw = "RUN pipeline DRAW_RECT POS 0 0 SIZE 16 8\n"
    write(tmp_path, COLORED + draw, "right.amber")
    write(tmp_path, undefined + draw, "wrong.amber")
    code, out, _ = run(capsys, tmp_path, "--device", "none", command="check")
    assert code == 1
    assert "right.amber: clean" in out
    assert "wrong.amber: 1 finding" in out


def test_check_says_that_a_script_does_not_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, FAILS)
    code, out, _ = run(capsys, path, "--device", "none", command="check")
    assert code == 1
    assert f"fail on the reference device: {path}:14: data: value 0 is 2, expected EQ 3" in out


def test_a_folder_with_shaders_is_one_of_shaders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, PASSES, "a.amber")
    (tmp_path / "b.comp").write_text("#version 450\nvoid main() { }\n")
    _, out, error = run(capsys, tmp_path, "--device", "none", command="check")
    assert "b.comp" in out + error
    assert "a.amber" not in out


TWO_WRONG = """\
#!amber
SHADER compute first GLSL
#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
void main() { data[gl_LocalInvocationIndex] = 1u << (data[0] + 40u); }
END
SHADER compute second GLSL
#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
void main() { data[gl_LocalInvocationIndex] /= data[0] - 1u; }
END
BUFFER one DATA_TYPE uint32 DATA 1 2 3 4 END
BUFFER two DATA_TYPE uint32 DATA 1 2 3 4 END
PIPELINE compute a
  ATTACH first
  BIND BUFFER one AS storage DESCRIPTOR_SET 0 BINDING 0
END
PIPELINE compute b
  ATTACH second
  BIND BUFFER two AS storage DESCRIPTOR_SET 0 BINDING 0
END
RUN a 1 1 1
RUN b 1 1 1
"""


def test_findings_of_all_pipelines_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, found = write(tmp_path, TWO_WRONG), tmp_path / "found.json"
    words = [path, "--device", "none", "--json", found, "--annotations", "github"]
    code, out, _ = run(capsys, *words, command="check")
    assert code == 1
    lines = TWO_WRONG.split("\n")
    expected = {number for number, line in enumerate(lines, 1) if "<<" in line or "/=" in line}
    assert len(expected) == 2
    assert all(f"file={path},line={line}" in out for line in expected)
    [entry] = json.loads(found.read_text())["configurations"]
    assert {finding["place"]["line"] for finding in entry["report"]["findings"]} == expected


def test_folders_whose_names_end_like_scripts_are_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.amber").mkdir()
    write(tmp_path, PASSES, "y.amber")
    for word in (tmp_path, f"{tmp_path}/*.amber"):
        code, out, _ = run(capsys, word, "--device", "reference")
        assert (code, out.count("pass: ")) == (0, 1)
    code, _, error = run(capsys, tmp_path / "x.amber", "--device", "reference")
    assert code == 2
    assert "run also takes folders of Amber scripts" in error


def test_a_slow_reader_is_not_a_fault_of_the_driver(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_slowly(script: Path) -> None:
        raise DeadlineReached

    monkeypatch.setattr("vkgroup.cli.amber.read_script", read_slowly)
    session = ScriptSession(select("swiftshader"), 5).open()
    outcome = session.perform(tmp_path / "a.amber")
    session.close()
    assert (outcome.status, outcome.lost) == (ScriptStatus.ERROR, False)


def test_a_color_set_after_a_clear_is_not_that_of_the_clear(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(
        tmp_path,
        COLORED + "CLEAR pipeline\nEXPECT frame IDX 0 0 SIZE 16 8 EQ_RGBA 0 0 0 0\n"
        "CLEAR_COLOR pipeline 255 0 0 255\nCLEAR pipeline\n"
        "EXPECT frame IDX 0 0 SIZE 16 8 EQ_RGBA 255 0 0 255\n",
    )
    for command in ("run", "check"):
        assert (
            run(capsys, path, "--device", {"run": "swiftshader", "check": "none"}[command], command=command)[
                0
            ]
            == 0
        )


PACKED = """\
#!amber
SHADER compute shader GLSL
#version 450
#extension GL_EXT_samplerless_texture_functions : require
layout(set = 0, binding = 0) buffer Found { float found; };
layout({format}set = 0, binding = 1) uniform {type} packed;
void main() { found = {read}.r; }
END
BUFFER found DATA_TYPE float DATA 0 END
# One in the red of a word: an exponent of 15, and no mantissa.
IMAGE packed FORMAT B10G11R11_UFLOAT_PACK32 DIM_2D WIDTH 1 HEIGHT 1 DATA 0x3c0 END
PIPELINE compute pipeline
  ATTACH shader
  BIND BUFFER found AS storage DESCRIPTOR_SET 0 BINDING 0
  BIND BUFFER packed AS {kind} DESCRIPTOR_SET 0 BINDING 1
END
RUN pipeline 1 1 1
EXPECT found IDX 0 EQ 1
"""


@pytest.mark.parametrize(
    ("format_", "type_", "read", "kind"),
    [
        ("r11f_g11f_b10f, ", "image2D", "imageLoad(packed, ivec2(0))", "storage_image"),
        ("", "texture2D", "texelFetch(packed, ivec2(0), 0)", "sampled_image"),
    ],
)
def test_check_of_packed_images(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format_: str, type_: str, read: str, kind: str
) -> None:
    text = PACKED
    for name, value in {"format": format_, "type": type_, "read": read, "kind": kind}.items():
        text = text.replace(f"{{{name}}}", value)
    path = write(tmp_path, text)
    assert run(capsys, path, "--device", "reference")[1].startswith("pass: ")
    code, out, _ = run(capsys, path, "--device", "none", command="check")
    assert (code, out.count(": clean")) == (0, 1)
