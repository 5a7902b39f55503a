"""shaderc's C interface, with the libshaderc of the current glslang in place of one of the system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fronts import RICH, both, comparable
from sources import BY_STAGE, COMPUTE, diagnostics_of, places

from vkgroup.compiler import TargetEnvironment, compile_file, compile_source, front_ends, isolated
from vkgroup.compiler.front_ends import front_end
from vkgroup.compiler.installed import InstalledCompiler
from vkgroup.compiler.isolated import has_libshaderc


@pytest.fixture(autouse=True)
def no_executable(current_glslang: InstalledCompiler, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A compiler process with a libshaderc, and no ``glslc``."""
    monkeypatch.setenv("VKGROUP_GLSLC", "/nonexistent")
    server = isolated._Server(current_glslang)
    monkeypatch.setattr(isolated, "_server", server)
    monkeypatch.setattr(front_ends, "_has_libshaderc", has_libshaderc)
    yield
    server.close()


def test_the_library_is_loaded_and_has_no_identity_to_cache_by() -> None:
    assert front_end("shaderc").identity is None


@pytest.mark.parametrize("stage", BY_STAGE)
def test_same_interface(stage: str) -> None:
    first, second = both(BY_STAGE[stage], stage=stage, target=TargetEnvironment.VULKAN_1_2)
    assert comparable(first) == comparable(second)


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize("target", list(TargetEnvironment)[1:])
def test_rich_interface(target: TargetEnvironment) -> None:
    first, second = both(RICH, stage="compute", target=target, optimize="size", defines={"SIZE": 5})
    assert comparable(first) == comparable(second)
    assert second.version == target.spirv_version


def test_dialects_entry_point_and_debug_lines() -> None:
    loose = "layout(local_size_x = 1) in;\nuniform float k;\nlayout(std430) buffer B { float x[]; };\n"
    loose += "void main() { x[0] = k; }"
    first, second = both(loose, stage="compute", dialect="gl")
    assert len(first.reflection.bindings) == len(second.reflection.bindings) == 2
    hlsl = "RWStructuredBuffer<uint> data;\n[numthreads(8, 1, 1)] void go() { data[0] = 1; }"
    first, second = both(hlsl, stage="compute", dialect="hlsl", entry_point="go")
    assert comparable(first)[0] == comparable(second)[0] == [("go", "compute", (8, 1, 1))]
    first, second = both(COMPUTE, stage="compute", entry_point="go", debug=True)
    assert comparable(first) == comparable(second)
    assert second.debug_source == COMPUTE


def test_includes_and_lines(tmp_path: Path) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "a.glsl").write_text("#include <b.glsl>\n")
    (tmp_path / "path" / "b.glsl").write_text("#define SIZE 12\n")
    main = tmp_path / "main.comp"
    main.write_text('#version 460\n#include "a.glsl"\nlayout(local_size_x = SIZE) in;\nvoid main() {}\n')
    module = compile_file(main, include_paths=[tmp_path / "path"], compiler="shaderc")
    size = module.reflection.entry_points[0].local_size
    assert size is not None
    assert size.resolve() == (12, 1, 1)
    (tmp_path / "path" / "b.glsl").write_text("\n\nint x = bad;\n")
    found = diagnostics_of(lambda: compile_file(main, include_paths=[tmp_path / "path"], compiler="shaderc"))
    assert places(found)[0] == (str(tmp_path / "path" / "b.glsl"), 3)


@pytest.mark.parametrize("text", ['\n#include "a.glsl"\n', '\n#include "none.glsl"\n'])
def test_cycles_and_missing_files_agree(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.glsl").write_text(text)
    main = tmp_path / "main.comp"
    main.write_text('#version 460\n#include "a.glsl"\nvoid main() {}\n')
    first, second = (
        diagnostics_of(lambda compiler=compiler: compile_file(main, compiler=compiler))  # type: ignore[misc]
        for compiler in ("glslang", "shaderc")
    )
    assert first[0] == second[0]
    assert places(second)[0] == (str(tmp_path / "a.glsl"), 2)


def test_deep_sums_do_not_end_the_process() -> None:
    source = "layout(binding = 0) buffer B { int x; };\nvoid main() { x = x" + " + x" * 60_000 + "; }"
    assert compile_source(source, stage="compute", compiler="shaderc").version == (1, 5)
