"""A device that stops executing: after a number of submissions a layer leaves out the command buffers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vkgroup.drivers import CachedDriver

pytestmark = pytest.mark.slow  # a C compiler, which the first tier does without

LAYER = Path(__file__).parent / "idle_layer" / "idle.c"
NAME = "VK_LAYER_VKGROUP_idle"
SHADER = Path(__file__).parents[2] / "check" / "right" / "binary_search.comp"


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("layer")
    library = folder / "libidle.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", library, LAYER], check=True
    )
    functions = {"vkNegotiateLoaderLayerInterfaceVersion": "vkNegotiateLoaderLayerInterfaceVersion"}
    described = {
        **{"name": NAME, "type": "GLOBAL", "library_path": str(library), "api_version": "1.3.0"},
        **{"implementation_version": "1", "description": "stops executing", "functions": functions},
    }
    manifest = {"file_format_version": "1.2.0", "layer": described}
    (folder / "idle.json").write_text(json.dumps(manifest))
    return folder


def run(layer: Path, folder: Path, after: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command on a device that executes a number of submissions, of all processes together."""
    variables = {"VK_LAYER_PATH": str(layer), "VK_INSTANCE_LAYERS": NAME, "VKGROUP_VALIDATION": "0"}
    counter = folder / "count"
    counter.unlink(missing_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "vkgroup", *words],
        env={**os.environ, **variables, "IDLE_COUNT": str(counter), "IDLE_AFTER": str(after)},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("after", [2, 3, 6])
def test_failures_are_reported_and_the_search_says_why_it_ended(
    after: int, layer: Path, tmp_path: Path, swiftshader: CachedDriver
) -> None:
    out = tmp_path / "out"
    options = ["--filter", "vote.compute.subgroupAll.bool.*", "--jobs", "1", "--out", str(out)]
    found = run(layer, tmp_path, after, "conform", "--device", swiftshader.name, *options)
    assert found.returncode == 1
    said = found.stdout + found.stderr
    assert "InternalError" not in said
    assert "internal error" not in said
    assert "the device accepts work, but no longer executes it" in " ".join(said.split())
    statuses = [json.loads(line)["status"] for line in (out / "results.jsonl").read_text().splitlines()[1:]]
    assert statuses.count("Fail") > 10


def test_check_accuses_no_shader(layer: Path, tmp_path: Path, swiftshader: CachedDriver) -> None:
    found = run(layer, tmp_path, 1, "check", str(SHADER), "--device", swiftshader.name, "--groups", "1")
    assert found.returncode == 3
    assert "executes nothing" in found.stderr
    assert "differs" not in found.stdout


def test_a_device_that_goes_on_is_not_suspected(
    layer: Path, tmp_path: Path, swiftshader: CachedDriver
) -> None:
    found = run(layer, tmp_path, 10**6, "check", str(SHADER), "--device", swiftshader.name, "--groups", "1")
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(("after", "code"), [(0, 3), (1, 1)])
def test_bench_ends(after: int, code: int, layer: Path, tmp_path: Path, swiftshader: CachedDriver) -> None:
    """Timestamps that are never written are not waited for."""
    words = ["bench", "reduce.sum.uint32", "--smoke", "--device", swiftshader.name]
    found = run(layer, tmp_path, after, *words)
    assert found.returncode == code
    expected = "executes nothing" if not after else "wrote no timestamps"
    assert expected in found.stderr
    assert "no verdict on the device" not in found.stderr


@pytest.mark.parametrize("after", [1, 3, 5])
def test_probe_says_that_the_device_was_lost(
    after: int, layer: Path, tmp_path: Path, swiftshader: CachedDriver
) -> None:
    found = run(layer, tmp_path, after, "probe", "--device", swiftshader.name)
    assert found.returncode == 1
    assert "internal error" not in (found.stdout + found.stderr).lower()
    assert "no longer executes it" in " ".join(found.stdout.split())


def test_a_folder_names_the_device_that_it_leaves_out(
    layer: Path, tmp_path: Path, swiftshader: CachedDriver
) -> None:
    folder = tmp_path / "shaders"
    folder.mkdir()
    (folder / SHADER.name).write_text(SHADER.read_text())
    words = ["check", str(folder), "--device", swiftshader.name, "--no-cache", "--jobs", "1"]
    found = run(layer, tmp_path, 0, *words)
    assert "left out: " in found.stdout
    assert "executes nothing" in found.stdout
