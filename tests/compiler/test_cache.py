"""The cache on disk: hits, what invalidates, damage, several processes, folders that cannot be used."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from sources import COMPUTE, diagnostics_of

from vkgroup.compiler import TargetEnvironment, build, cache, compile_file, compile_source, front_ends
from vkgroup.compiler.includes import Dependencies
from vkgroup.compiler.request import CompileRequest
from vkgroup.spirv import Module


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each compilation that really happens adds the source's name."""
    done: list[str] = []
    compile_one = build._build

    def counting(request: CompileRequest, compiler: str) -> tuple[Module, Dependencies]:
        done.append(request.name)
        return compile_one(request, compiler)

    monkeypatch.setattr(build, "_build", counting)
    build_program = build.build_program

    def counting_programs(
        requests: Sequence[CompileRequest], compiler: str
    ) -> tuple[dict[str, Module], Dependencies]:
        done.extend(request.name for request in requests)
        return build_program(requests, compiler)

    monkeypatch.setattr(build, "build_program", counting_programs)
    return done


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_second_compilation_is_read_from_disk(builds: list[str], modules: Path) -> None:
    first = compile_source(COMPUTE, stage="compute")
    assert compile_source(COMPUTE, stage="compute") == first
    assert len(builds) == 1
    assert len(entries(modules)) == 1


def test_without_cache_nothing_is_read_or_written(builds: list[str], modules: Path) -> None:
    compile_source(COMPUTE, stage="compute", cache=False)
    compile_source(COMPUTE, stage="compute", cache=False)
    assert len(builds) == 2
    assert not modules.exists()


@pytest.mark.parametrize(
    "options",
    [
        {"target": TargetEnvironment.VULKAN_1_3},
        {"defines": {"A": 1}},
        {"optimize": "size"},
        {"debug": True},
        {"entry_point": "other"},
        {"dialect": "gl"},
        {"limits": {"MAX_COMPUTE_IMAGE_UNIFORMS": 9}},
    ],
    ids=lambda options: next(iter(options)),
)
def test_every_option_is_part_of_the_key(options: dict[str, object], builds: list[str]) -> None:
    compile_source(COMPUTE, stage="compute")
    compile_source(COMPUTE, stage="compute", **options)  # type: ignore[arg-type]
    assert len(builds) == 2
    compile_source(COMPUTE, stage="compute", **options)  # type: ignore[arg-type]
    assert len(builds) == 2


def test_source_and_stage_are_part_of_the_key(builds: list[str]) -> None:
    source = "#version 460\nvoid main() {}"
    compile_source(source, stage="compute")
    compile_source(source, stage="vertex")
    compile_source(source + " ", stage="vertex")
    assert len(builds) == 3


def test_definitions_do_not_run_together(builds: list[str]) -> None:
    compile_source(COMPUTE, stage="compute", defines={"A": "B C"})
    compile_source(COMPUTE, stage="compute", defines={"A": "B", "C": ""})
    assert len(builds) == 2


def test_name_counts_only_with_debug_lines(builds: list[str]) -> None:
    compile_source(COMPUTE, stage="compute", name="a")
    compile_source(COMPUTE, stage="compute", name="b")
    assert builds == ["a"]
    named = [compile_source(COMPUTE, stage="compute", name=name, debug=True) for name in ("a", "b")]
    assert named[0] != named[1]


def test_version_of_the_tools_is_part_of_the_key(builds: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    compile_source(COMPUTE, stage="compute")
    monkeypatch.setattr(front_ends, "glslang_identity", lambda: "another glslang")
    compile_source(COMPUTE, stage="compute")
    monkeypatch.setattr(build, "tools_version", lambda: "other tools")
    compile_source(COMPUTE, stage="compute")
    assert len(builds) == 3


def test_errors_are_not_kept(builds: list[str], modules: Path) -> None:
    for _ in range(2):
        diagnostics_of(lambda: compile_source("wrong", stage="compute"))
    assert len(builds) == 2
    assert entries(modules) == []


@pytest.mark.parametrize("compiler", ["glslang", "shaderc"])
def test_includes_count_by_their_content(
    tmp_path: Path, builds: list[str], compiler: str, glslc: Path
) -> None:
    main, header, inner = tmp_path / "main.comp", tmp_path / "header.glsl", tmp_path / "inner.glsl"
    main.write_text('#version 460\n#include "header.glsl"\nlayout(local_size_x = SIZE) in;\nvoid main() {}\n')
    header.write_text('#include "inner.glsl"\n')
    inner.write_text("#define SIZE 4\n")

    def size() -> int:
        local_size = compile_file(main, compiler=compiler).reflection.entry_points[0].local_size
        assert local_size is not None
        return local_size.resolve()[0]

    assert [size(), size(), len(builds)] == [4, 4, 1]
    os.utime(inner, (1, 1))
    assert [size(), len(builds)] == [4, 1]
    inner.write_text("#define SIZE 8\n")
    assert [size(), size(), len(builds)] == [8, 8, 2]
    inner.unlink()
    found = diagnostics_of(lambda: compile_file(main, compiler=compiler))
    assert found[0].file == str(header)


def test_file_that_appears_earlier_on_the_path_counts(tmp_path: Path, builds: list[str]) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (second / "a.glsl").write_text("#define SIZE 2\n")
    source = "#version 460\n#include <a.glsl>\nlayout(local_size_x = SIZE) in;\nvoid main() {}"
    old = compile_source(source, stage="compute", include_paths=[first, second])
    (first / "a.glsl").write_text("#define SIZE 3\n")
    new = compile_source(source, stage="compute", include_paths=[first, second])
    assert old != new
    assert len(builds) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-40] + bytes([data[-40] ^ 1]) + data[-39:],
        lambda data: bytes([data[0] ^ 0x80]) + data[1:],
        lambda data: data[:50] + b"\xff" * 8 + data[58:],
        lambda data: data + b"more",
        lambda data: b"\0" * len(data),
    ],
)
def test_damaged_entry_is_rebuilt(damage, builds: list[str], modules: Path) -> None:
    module = compile_source(COMPUTE, stage="compute")
    (entry,) = entries(modules)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert compile_source(COMPUTE, stage="compute") == module
    assert len(builds) == 2
    assert entry.read_bytes() == whole
    compile_source(COMPUTE, stage="compute")
    assert len(builds) == 2


def test_an_entry_under_another_name_is_rebuilt(builds: list[str], modules: Path) -> None:
    """Otherwise the code of another shader would run."""
    first, second = (COMPUTE + f"// {kind}\nconst uint KIND = {kind}u;\n" for kind in (1, 2))
    wanted = compile_source(first, stage="compute")
    (entry,) = (path for path in modules.rglob("*") if path.is_file())
    compile_source(second, stage="compute")
    (other,) = (path for path in modules.rglob("*") if path.is_file() and path != entry)
    entry.write_bytes(other.read_bytes())
    builds.clear()
    assert compile_source(first, stage="compute") == wanted
    assert len(builds) == 1


def test_entry_that_is_a_folder_does_not_stop_compilation(modules: Path) -> None:
    module = compile_source(COMPUTE, stage="compute")
    (entry,) = entries(modules)
    entry.unlink()
    entry.mkdir()
    assert compile_source(COMPUTE, stage="compute") == module
    assert entries(modules) == []


def test_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A file in the folder's place stops even the super-user.
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "file"))
    module = compile_source(COMPUTE, stage="compute")
    assert module.version == (1, 5)
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "file" / "below"))
    assert compile_source(COMPUTE, stage="compute") == module


def test_full_disk_leaves_nothing_behind(modules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert compile_source(COMPUTE, stage="compute").version == (1, 5)
    assert entries(modules) == []


def test_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "here"))
    assert cache.cache_folder() == tmp_path / "here" / "modules"
    monkeypatch.delenv("VKGROUP_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "there"))
    assert "vkgroup" in str(cache.cache_folder())
    assert cache.cache_folder().name == "modules"


def test_a_home_that_does_not_exist_is_not_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root could create it; services often have such a home."""
    monkeypatch.setenv("HOME", str(tmp_path / "nonexistent"))
    monkeypatch.delenv("VKGROUP_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert compile_source(COMPUTE, stage="compute").version == (1, 5)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "there"))
    assert tmp_path / "there" in cache.cache_folder().parents


def test_full_folder_loses_its_older_half(modules: Path) -> None:
    module = compile_source(COMPUTE, stage="compute", cache=False)
    keys = [f"ab{'f0'}{index:060x}" for index in range(140)]
    for age, key in enumerate(reversed(keys)):
        cache.store(key, module, Dependencies())
        path = modules / key[:2] / key[2:]
        os.utime(path, (1000 + age, 1000 + age))
    cache.store(f"ab{'00'}{0:060x}", module, Dependencies())
    left = {path.name for path in entries(modules)}
    assert 60 <= len(left) <= 80
    assert keys[0][2:] in left
    assert keys[-1][2:] not in left


def _compile_all(folder: str, seed: int, results: multiprocessing.SimpleQueue[list[bytes]]) -> None:
    os.environ["VKGROUP_CACHE"] = folder
    order = [(index * 7 + seed) % 20 for index in range(20)]
    made = {
        index: compile_source(COMPUTE, stage="compute", defines={"N": index, "NAME": f"n{index}"}).to_bytes()
        for index in order
    }
    results.put([made[index] for index in range(20)])


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_several_processes_share_it(method: str, modules: Path) -> None:
    if method not in multiprocessing.get_all_start_methods():
        method = "spawn"
    compile_source(COMPUTE, stage="compute", cache=False)
    context = multiprocessing.get_context(method)
    results = context.SimpleQueue()
    workers = [
        context.Process(target=_compile_all, args=(str(modules.parent), seed, results)) for seed in range(4)
    ]
    for worker in workers:
        worker.start()
    made = [results.get() for _ in workers]
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert all(one == made[0] for one in made)
    assert len(entries(modules)) == 20
    assert not [path for path in entries(modules) if path.name.startswith(".")]


def test_overhead_is_below_a_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = 0.0

    def timed(function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            nonlocal inside
            start = time.perf_counter()
            result = function(*arguments, **options)
            inside += time.perf_counter() - start
            return result

        return call

    monkeypatch.setattr(front_ends, "compile_isolated", timed(front_ends.compile_isolated))
    monkeypatch.setattr(build, "finish", timed(build.finish))
    made, read = [], []
    for index in range(40):
        for kind in (made, read):
            inside = 0.0
            start = time.perf_counter()
            compile_source(COMPUTE, stage="compute", defines={"N": index})
            kind.append(time.perf_counter() - start - inside)
    assert min(made) < 0.001
    assert min(read) < 0.001
