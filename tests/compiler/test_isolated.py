"""Compilers in a separate process: crashes, time limits, interruptions, forks and its output."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from sources import COMPUTE

from vkgroup.base.errors import CompileError
from vkgroup.compiler import compile_source, isolated
from vkgroup.compiler.installed import InstalledCompiler

CRASHES = {
    "pragma": ("vert", "#version 450\n#pragma STDGL\nvoid main() {}\n"),
    "unfinished pragma": ("vert", "#version 450\n#pragma STDGL invariant(\nvoid main() {}\n"),
    "null initializer": (
        "vert",
        "#version 460\n#extension GL_EXT_null_initializer : enable\nvoid main() { int a[1][2] = { {} }; }\n",
    ),
    "sum of texts": (
        "frag",
        '#version 450\n#extension GL_EXT_debug_printf : require\nvoid main() { "o" + "k"; }\n',
    ),
}
"""Sources that crash glslang 13: stage and text."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> isolated._Server:
    """A process of this test's own."""
    server = isolated._Server()
    monkeypatch.setattr(isolated, "_server", server)
    return server


@pytest.mark.usefixtures("server")  # in a used process, not every invalid access crashes
@pytest.mark.parametrize("title", CRASHES)
def test_a_source_that_crashes_the_compiler_does_not_compile(title: str) -> None:
    stage, source = CRASHES[title]
    with pytest.raises(CompileError, match="signal 11"):
        compile_source(source, stage=stage, name="a.glsl", cache=False)
    assert compile_source(COMPUTE, stage="compute", cache=False).reflection.entry_points


def test_the_command_reports_a_crash(tmp_path: Path) -> None:
    file = tmp_path / "a.vert"
    file.write_text(CRASHES["pragma"][1])
    command = [sys.executable, "-m", "vkgroup", "compile", str(file), "-o", str(tmp_path / "a.spv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 2
    assert f"{file}: error: glslang crashed (signal 11)" in done.stderr


def test_what_glslang_prints_itself_is_not_shown(tmp_path: Path) -> None:
    """For version 110, glslang 13 writes its built-in declarations to standard output: 4,500 lines."""
    file = tmp_path / "a.comp"
    file.write_text("#version 110\nvoid main() {}\n")
    command = [sys.executable, "-m", "vkgroup", "compile", str(file), "-o", str(tmp_path / "a.spv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[1:] == [
        f"{file}: error: #version: compute shaders require es profile with version 310 or above, or non-es"
        " profile with version 420 or above"
    ]


def test_a_killed_process_is_started_again(server: isolated._Server) -> None:
    compile_source(COMPUTE, stage="compute", cache=False)
    first = server._process
    assert first is not None
    first.kill()
    first.wait()
    assert compile_source(COMPUTE, stage="compute", cache=False).reflection.entry_points
    server.close()


def test_an_interruption_loses_no_later_answer(server: isolated._Server) -> None:
    """Ctrl-C while the compiler works: the next source gets its own module, not that of this one."""
    slow = COMPUTE.replace("void main() {", "void main() { int a = 0;" + "a = a * 3 + 1;" * 40_000, 1)
    interrupted = threading.Event()

    def interrupt() -> None:
        # Python drops an interruption that arrives while it deletes an object; then another one follows.
        time.sleep(0.1)
        while not interrupted.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            interrupted.wait(30)

    def work() -> None:
        while True:
            compile_source(slow, stage="compute", cache=False)

    compile_source(COMPUTE, stage="compute", cache=False)
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        work()
    interrupted.set()
    module = compile_source(COMPUTE, stage="compute", cache=False)
    assert module.to_bytes() == compile_source(COMPUTE, stage="compute", cache=False).to_bytes()
    server.close()


def _compile_in_child(answers: multiprocessing.SimpleQueue[bytes]) -> None:
    answers.put(compile_source(COMPUTE, stage="compute", cache=False).to_bytes())


def test_a_forked_process_starts_its_own_compiler(server: isolated._Server) -> None:
    module = compile_source(COMPUTE, stage="compute", cache=False)
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_compile_in_child, args=(answers,))
    child.start()
    for _ in range(20):
        assert compile_source(COMPUTE, stage="compute", cache=False).to_bytes() == module.to_bytes()
    assert answers.get() == module.to_bytes()
    child.join(30)
    assert child.exitcode == 0
    server.close()


def test_threads_share_the_process(server: isolated._Server) -> None:
    def work(number: int) -> None:
        for _ in range(10):
            module = compile_source(COMPUTE, stage="compute", defines={"N": number}, cache=False)
            results[number].add(module.to_bytes())

    results: dict[int, set[bytes]] = {number: set() for number in range(4)}
    threads = [threading.Thread(target=work, args=(number,)) for number in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(modules) == 1 for modules in results.values())
    server.close()


def test_the_process_ends_with_its_parent() -> None:
    script = (
        "import os, time\nfrom vkgroup.compiler import compile_source, isolated\n"
        "compile_source('void main() {}', stage='compute', cache=False)\n"
        "print(isolated._server._process.pid, flush=True)\nos._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and Path(f"/proc/{int(done.stdout)}").exists():
        time.sleep(0.02)
    assert not Path(f"/proc/{int(done.stdout)}").exists()


def test_a_removed_working_directory_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    compile_source(COMPUTE, stage="compute", cache=False)
    monkeypatch.setattr(os, "getcwd", lambda: str(folder))
    folder.rmdir()
    with pytest.raises(CompileError, match="working directory"):
        compile_source(COMPUTE, stage="compute", cache=False)


def test_the_process_imports_no_numpy() -> None:
    script = "import sys, vkgroup.compiler.isolated_worker; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_many_open_files_do_not_matter() -> None:
    """select(2) refuses file numbers above 1023."""
    script = (
        "import os, resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))\n"
        "held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1500)]\n"
        "from vkgroup.compiler import compile_source\n"
        "compile_source('void main() {}', stage='compute', cache=False)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_the_process_of_an_earlier_compiler_ends(current_glslang: InstalledCompiler) -> None:
    compile_source("#version 460\nvoid main() {}\n", stage="compute", cache=False)
    process = isolated._of(current_glslang)._process
    assert process is not None
    assert process.poll() is None
    later = replace(current_glslang, version="99.0")
    isolated._of(later)
    assert process.poll() is not None
    assert list(isolated._installed) == [later]
