"""Input that is no shader: always a CompileError, never a crash of the process."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import BY_STAGE, COMPUTE, diagnostics_of, places

from vkgroup.base.errors import CompileError, InvalidInput
from vkgroup.compiler import compile_file, compile_source


@pytest.mark.parametrize("source", ["", " \n\t\n", "\ufeff", "\ufeff\r\n"])
def test_empty_source(source: str) -> None:
    (found,) = diagnostics_of(lambda: compile_source(source, stage="compute", name="e.comp"))
    assert (found.file, found.message) == ("e.comp", "the source is empty")


def test_nul_and_surrogates() -> None:
    (found,) = diagnostics_of(lambda: compile_source("void\nmain() {\0}", stage="compute"))
    assert (found.line, found.message) == (2, "the source contains a NUL character; remove it")
    (found,) = diagnostics_of(lambda: compile_source("void main() {}\n\n// \udc80", stage="compute"))
    assert found.line == 3


def test_files_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.comp"
    path.write_bytes(b"void main() {}\n// caf\xe9\n")
    (found,) = diagnostics_of(lambda: compile_file(path))
    assert (found.file, found.line) == (str(path), 2)
    assert "not UTF-8" in found.message
    assert "0xe9" in found.message
    path.write_bytes(b"void main() {}\n\n\0")
    assert places(diagnostics_of(lambda: compile_file(path))) == [(str(path), 3)]
    path.write_bytes(b"")
    assert places(diagnostics_of(lambda: compile_file(path))) == [(str(path), 0)]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.comp").mkdir()
    for name, why in (("none.comp", "cannot be read"), ("folder.comp", "is a folder")):
        with pytest.raises(InvalidInput, match=why):
            compile_file(tmp_path / name)


def test_byte_order_mark_and_line_ends() -> None:
    plain = compile_source("#version 460\nvoid main() {\n}\n", stage="compute", cache=False)
    for source in ("\ufeff#version 460\r\nvoid main() {\r\n}\r\n", "#version 460\rvoid main() {\r}\r"):
        assert compile_source(source, stage="compute", cache=False) == plain
    found = diagnostics_of(
        lambda: compile_source("#version 460\r\nvoid main() {\r\n  bad;\r\n}", stage="compute")
    )
    assert places(found)[0] == ("<string>", 3)


def test_characters_beyond_ascii_in_comments() -> None:
    assert compile_source("#version 460\n// größer ≥ 日本\nvoid main() {}", stage="compute").version == (1, 5)
    found = diagnostics_of(lambda: compile_source("#version 460\nvoid main() { größe; }", stage="compute"))
    assert places(found)[0] == ("<string>", 2)


DEEP = {
    "sum": "int a = b.x" + " + b.x" * 60_000 + ";",
    "parentheses": "int a = " + "(" * 200_000 + "1" + ")" * 200_000 + ";",
    "blocks": "{" * 100_000 + "}" * 100_000,
    "macros": "int a = E;",
    "too long": "int a = b.x" + " + b.x" * 400_000 + ";",
}

_MACROS = "#define A b.x + b.x + b.x + b.x + b.x + b.x + b.x + b.x + b.x + b.x\n" + "".join(
    f"#define {name} {' + '.join([before] * 10)}\n" for before, name in ("AC", "CD", "DE")
)

_CHILD = """
import sys
from vkgroup.compiler import compile_source
from vkgroup.base.errors import CompileError
try:
    compile_source(sys.stdin.read(), stage="compute", cache=False)
    print("compiled")
except CompileError as error:
    print(error.diagnostics[0].message)
"""


@pytest.mark.parametrize(
    ("case", "answer"),
    [
        ("sum", "compiled"),
        ("macros", "compiled"),
        ("parentheses", "memory exhausted"),
        ("blocks", "memory exhausted"),
        ("too long", "characters after preprocessing"),
    ],
)
def test_deep_nesting_does_not_end_the_process(case: str, answer: str) -> None:
    source = (
        f"#version 460\n{_MACROS}layout(binding = 0) buffer B {{ int x; }} b;\nvoid main() {{ {DEEP[case]} }}"
    )
    done = subprocess.run(
        [sys.executable, "-c", _CHILD], input=source, capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert answer in done.stdout


@settings(max_examples=150, deadline=None)
@given(data=st.data(), stage=st.sampled_from(sorted(BY_STAGE)))
def test_mangled_shaders_compile_or_are_refused(data: st.DataObject, stage: str) -> None:
    source = BY_STAGE[stage]
    start = data.draw(st.integers(0, len(source)))
    end = data.draw(st.integers(start, min(len(source), start + 20)))
    put = data.draw(st.one_of(st.text(max_size=10), st.sampled_from(list('{}()[];,#"\\/*-+<>=.0x'))))
    try:
        compile_source(source[:start] + put + source[end:], stage=stage, cache=False)
    except CompileError as error:
        message = str(error)
        assert "does not compile" in message


def test_many_threads_compile_at_once() -> None:
    expected = [
        compile_source(COMPUTE, stage="compute", defines={"N": i}, cache=False).to_bytes() for i in range(4)
    ]
    wrong: list[object] = []

    def work(index: int) -> None:
        for _ in range(10):
            module = compile_source(COMPUTE, stage="compute", defines={"N": index}, cache=False)
            if module.to_bytes() != expected[index]:
                wrong.append(index)
            try:
                compile_source(f"void main() {{ wrong_{index}; }}", stage="compute", cache=False)
            except CompileError as error:
                if f"wrong_{index}" not in error.diagnostics[0].message:
                    wrong.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
