"""#include: where files are found, cycles, missing files, and lines of what is wrong in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from sources import diagnostics_of, places

from vkgroup.base.errors import CompileError
from vkgroup.compiler import compile_file, compile_source

HEAD = "#version 460\n"
MAIN = "layout(binding = 0) buffer B { int v; } b;\nvoid main() { b.v = VALUE; }\n"


@pytest.fixture(params=["glslang", "shaderc"])
def compiler(request: pytest.FixtureRequest) -> str:
    if request.param == "shaderc":
        request.getfixturevalue("glslc")
    return str(request.param)


def write(folder: Path, **files: str) -> Path:
    """Write files; ``a__b`` is file ``b`` in folder ``a``. Return the path of ``main.comp``."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.glsl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    main = folder / "main.glsl"
    return main.rename(folder / "main.comp") if main.exists() else folder / "main.comp"


def value_of(module: object) -> list[int]:
    """Return the module's integer constants, in order."""
    instructions = module.instructions  # type: ignore[attr-defined]
    return [i.operands[0] for i in instructions if i.name == "OpConstant"]


def test_beside_the_including_file_first(tmp_path: Path, compiler: str) -> None:
    main = write(
        tmp_path,
        main=HEAD + '#include "sub/outer.glsl"\n' + MAIN,
        sub__outer='#include "inner.glsl"\n',
        sub__inner="#define VALUE 41\n",
        inner="#define VALUE 42\n",
        path__inner="#define VALUE 43\n",
    )
    module = compile_file(main, include_paths=[tmp_path / "path"], compiler=compiler)
    assert 41 in value_of(module)


def test_include_paths_in_order(tmp_path: Path, compiler: str) -> None:
    write(tmp_path, one__a="#define VALUE 51\n", two__a="#define VALUE 52\n", two__b="#define VALUE 53\n")
    paths = [tmp_path / "one", tmp_path / "two"]
    for directive, expected in (("<a.glsl>", 51), ('"a.glsl"', 51), ("<b.glsl>", 53)):
        source = HEAD + f"#include {directive}\n" + MAIN
        module = compile_source(source, stage="compute", include_paths=paths, compiler=compiler)
        assert expected in value_of(module)


def test_text_without_a_place_does_not_look_into_the_working_directory(
    tmp_path: Path, compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a="#define VALUE 1\n")
    monkeypatch.chdir(tmp_path)
    source = HEAD + '#include "a.glsl"\n' + MAIN
    found = diagnostics_of(lambda: compile_source(source, stage="compute", compiler=compiler))
    assert places(found)[0] == ("<string>", 2)
    assert value_of(compile_source(source, stage="compute", include_paths=["."], compiler=compiler))


def test_file_of_the_working_directory(
    tmp_path: Path, compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, main=HEAD + '#include "a.glsl"\n' + MAIN + "wrong", a="#define VALUE 1\nbad\n")
    monkeypatch.chdir(tmp_path)
    found = diagnostics_of(lambda: compile_file("main.comp", compiler=compiler))
    assert {diagnostic.file for diagnostic in found} <= {"main.comp", "a.glsl"}
    assert found[0].file in ("a.glsl", "main.comp")


def test_angle_brackets_do_not_look_beside_the_file(tmp_path: Path) -> None:
    main = write(tmp_path, main=HEAD + "#include <a.glsl>\n" + MAIN, a="#define VALUE 1\n")
    (found,) = diagnostics_of(lambda: compile_file(main))
    assert (found.file, found.line) == (str(main), 2)
    assert "a.glsl" in found.message


def test_lines_in_included_files_and_after_them(tmp_path: Path, compiler: str) -> None:
    main = write(
        tmp_path,
        main=HEAD + '\n#include "a.glsl"\n\n#include "b.glsl"\nvoid main() {\n    undeclared_in_main;\n}\n',
        a='\n\nint a = undeclared_in_a;\n#include "c.glsl"\nint d = undeclared_after_c;\n',
        b="int b() {\n  return undeclared_in_b;\n}\n",
        c="int c = undeclared_in_c;\n",
    )
    found = diagnostics_of(lambda: compile_file(main, compiler=compiler))
    undeclared = [d for d in found if "undeclared identifier" in d.message]
    assert [(d.file, d.line, d.message.split("'")[1]) for d in undeclared] == [
        (str(tmp_path / "a.glsl"), 3, "undeclared_in_a"),
        (str(tmp_path / "c.glsl"), 1, "undeclared_in_c"),
        (str(tmp_path / "a.glsl"), 5, "undeclared_after_c"),
        (str(tmp_path / "b.glsl"), 2, "undeclared_in_b"),
        (str(main), 7, "undeclared_in_main"),
    ]
    assert all(d.severity == "error" for d in undeclared)


@pytest.mark.parametrize("version", ["#version 310 es", "#version 450", "#version 150", "// none"])
def test_lines_are_right_under_every_version(tmp_path: Path, version: str) -> None:
    main = write(tmp_path, main=f'{version}\n\n#include "a.glsl"\n\nvoid main() {{ wrong; }}\n', a="\n")
    found = diagnostics_of(lambda: compile_file(main, stage="fragment"))
    assert (str(main), 5) in places(found)


def test_version_after_comments(tmp_path: Path, compiler: str) -> None:
    main = write(
        tmp_path,
        main='/* a\n #version 100\n*/ // b\n\n  #  version 460 core // c\n#include "a.glsl"\n' + MAIN,
        a="#define VALUE 77\n",
    )
    assert 77 in value_of(compile_file(main, compiler=compiler))


def test_missing_file_is_reported_at_its_line(tmp_path: Path, compiler: str) -> None:
    main = write(tmp_path, main=HEAD + '#include "a.glsl"\nvoid main() {}\n', a='\n\n#include "none.glsl"\n')
    found = diagnostics_of(lambda: compile_file(main, compiler=compiler))
    assert places(found)[0] == (str(tmp_path / "a.glsl"), 3)
    assert "none.glsl" in found[0].message


def test_missing_file_says_where_was_looked(tmp_path: Path) -> None:
    main = write(tmp_path, main=HEAD + '#include "none.glsl"\nvoid main() {}\n')
    (found,) = diagnostics_of(lambda: compile_file(main, include_paths=[tmp_path / "x"]))
    assert f"searched: {tmp_path}, {tmp_path / 'x'}" in found.message
    (found,) = diagnostics_of(lambda: compile_source(main.read_text(), stage="compute"))
    assert "give include paths" in found.message


def test_cycle_is_reported_at_the_closing_line(tmp_path: Path, compiler: str) -> None:
    main = write(
        tmp_path,
        main=HEAD + '#include "a.glsl"\nvoid main() {}\n',
        a='\n#include "b.glsl"\n',
        b='\n\n#include "a.glsl"\n',
    )
    found = diagnostics_of(lambda: compile_file(main, compiler=compiler))
    assert places(found)[0] in ((str(tmp_path / "b.glsl"), 3), (str(tmp_path / "a.glsl"), 2))
    assert "include cycle: " in found[0].message
    assert found[0].message.count("a.glsl") >= 1


def test_file_that_includes_itself(tmp_path: Path) -> None:
    main = write(tmp_path, main=HEAD + '#include "a.glsl"\nvoid main() {}\n', a='#include "a.glsl"\n')
    (found,) = diagnostics_of(lambda: compile_file(main))
    path = tmp_path / "a.glsl"
    assert (found.file, found.line) == (str(path), 1)
    assert f"{path} → {path}" in found.message


def test_guards_end_a_cycle(tmp_path: Path, compiler: str) -> None:
    guard = "#ifndef {0}\n#define {0}\n{1}\n#endif\n"
    main = write(
        tmp_path,
        main=HEAD + '#include "a.glsl"\n' + MAIN,
        a=guard.format("GUARD_A", '#include "b.glsl"\n#define VALUE (B_VALUE + 1)'),
        b=guard.format("GUARD_B", '#include "a.glsl"\n#define B_VALUE 60'),
    )
    assert set(value_of(compile_file(main, compiler=compiler))) & {60, 61}


def test_include_in_a_branch_not_taken(tmp_path: Path, compiler: str) -> None:
    source = HEAD + '#if 0\n#include "none.glsl"\n#endif\n#define VALUE 5\n' + MAIN
    assert 5 in value_of(compile_source(source, stage="compute", compiler=compiler))


def test_hundred_files_deep_is_too_deep(tmp_path: Path) -> None:
    files = {f"f{i}": f'#include "f{i + 1}.glsl"\n' for i in range(100)}
    main = write(tmp_path, main=HEAD + '#include "f0.glsl"\nvoid main() {}\n', f100="\n", **files)
    (found,) = diagnostics_of(lambda: compile_file(main))
    assert "nested deeper than 64" in found.message


def test_sixty_files_deep_is_not(tmp_path: Path) -> None:
    files = {f"f{i}": f'#include "f{i + 1}.glsl"\n' for i in range(60)}
    main = write(tmp_path, main=HEAD + '#include "f0.glsl"\n' + MAIN, f60="#define VALUE 9\n", **files)
    assert 9 in value_of(compile_file(main))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\n\nint x; // \xff\xfe\n", ":3: the source is not UTF-8"),
        (b"int x;\n\0\n", ":2: the source contains a NUL character"),
    ],
)
def test_included_file_that_is_no_text(tmp_path: Path, data: bytes, message: str) -> None:
    main = write(tmp_path, main=HEAD + '\n#include "a.glsl"\nvoid main() {}\n')
    (tmp_path / "a.glsl").write_bytes(data)
    found = diagnostics_of(lambda: compile_file(main))
    assert places(found)[0] == (str(main), 3)
    assert f"{tmp_path / 'a.glsl'}{message}" in found[0].message


def test_empty_file_and_windows_line_ends(tmp_path: Path, compiler: str) -> None:
    main = write(tmp_path, main="", empty="")
    main.write_bytes(
        b'\xef\xbb\xbf#version 460\r\n#include "empty.glsl"\r\n#include "crlf.glsl"\r\n' + MAIN.encode()
    )
    (tmp_path / "crlf.glsl").write_bytes(b"\xef\xbb\xbf#define VALUE \\\r\n 33\r\n")
    assert 33 in value_of(compile_file(main))
    (tmp_path / "crlf.glsl").write_bytes(b"#define VALUE 33\nint a;\r\nint b = bad;\r\n")
    found = diagnostics_of(lambda: compile_file(main, compiler=compiler))
    assert places(found)[0] == (str(tmp_path / "crlf.glsl"), 3)


def test_hlsl_includes(tmp_path: Path) -> None:
    (tmp_path / "a.hlsl").write_text("static const uint value = 19;\n")
    (tmp_path / "main.comp.hlsl").write_text(
        '#include "a.hlsl"\n'
        "RWStructuredBuffer<uint> b;\n[numthreads(1, 1, 1)]\nvoid main() { b[0] = value; }\n"
    )
    assert 19 in value_of(compile_file(tmp_path / "main.comp.hlsl"))
    (tmp_path / "a.hlsl").write_text("\nstatic const uint value = nothing;\n")
    found = diagnostics_of(lambda: compile_file(tmp_path / "main.comp.hlsl"))
    assert places(found)[0] == (str(tmp_path / "a.hlsl"), 2)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.glsl").mkdir()
    main = write(tmp_path, main=HEAD + '#include "a.glsl"\nvoid main() {}\n')
    (found,) = diagnostics_of(lambda: compile_file(main))
    assert "no such file" in found.message


def test_a_file_that_includes_itself_has_short_errors(tmp_path: Path) -> None:
    file = tmp_path / "self.comp"
    file.write_text(
        "#version 460\n#extension GL_GOOGLE_include_directive : require\n"
        '#include "self.comp"\nvoid main() {}\n'
    )
    with pytest.raises(CompileError) as error:
        compile_file(file)
    lines = str(error.value).splitlines()
    assert len(lines) == len(set(lines)) < 20
