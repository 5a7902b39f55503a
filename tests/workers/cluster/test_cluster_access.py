"""Access to clusters: without the key, no other process can connect."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from process_states import descendants

import vkgroup
from vkgroup.base import processes
from vkgroup.workers.cluster.connecting import local_scheduler
from vkgroup.workers.cluster.serving import interface
from vkgroup.workers.opening import select

PAGE = Path(vkgroup.__file__).parents[1] / "docs" / "start" / "devices.md"

CONNECT = """
import sys, distributed
distributed.Client(sys.argv[1], timeout=5).run_on_scheduler(lambda: 1)
"""


def listening(process: int) -> set[str]:
    """Return the addresses at which a process and its descendants accept connections (TCP)."""
    sockets = set()
    for member in (process, *descendants(process)):
        for link in Path(f"/proc/{member}/fd").glob("*"):
            try:
                sockets.add(os.readlink(link))
            except OSError:
                continue
    addresses = set()
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:  # LISTEN
                number = bytes.fromhex(words[1].partition(":")[0])
                parts = [number[at : at + 4][::-1] for at in range(0, len(number), 4)]
                addresses.add(socket.inet_ntop(family, b"".join(parts)))
    return addresses


def test_listening_ports_are_found() -> None:
    before = listening(os.getpid())
    with socket.create_server(("127.0.0.3", 0)), socket.create_server(("::", 0), family=socket.AF_INET6):
        assert listening(os.getpid()) - before == {"127.0.0.3", "::"}


def connects(address: str, environment: dict[str, str] | None = None) -> bool:
    """Return whether another process can execute code through a scheduler."""
    done = subprocess.run(
        [sys.executable, "-c", CONNECT, address],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        check=False,
        timeout=60,
    )
    return done.returncode == 0


def test_a_local_cluster_listens_nowhere() -> None:
    before = listening(os.getpid())
    with local_scheduler([select("reference")], 1) as address:
        assert listening(os.getpid()) == before
        assert address.startswith("inproc://")
        assert not connects(address)


def test_a_local_cluster_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with local_scheduler([select("reference")], 1):
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []


def test_a_worker_listens_where_the_scheduler_reaches_it() -> None:
    assert interface("tcp://127.0.0.1:8786") == "127.0.0.1"
    assert interface("tls://localhost:8786") == "127.0.0.1"
    assert interface("ucx://10.0.0.1:8786") is None


@contextmanager
def _started(command: list[str], environment: dict[str, str], ready: str) -> Iterator[tuple[int, str]]:
    """Start a program; yield its process and the line that says that it is ready."""
    environment = {**processes.environment(), **environment, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as program:
        try:
            assert program.stdout is not None
            lines = iter(program.stdout)
            line = next((line for line in lines if re.search(ready, line)), "")
            assert line, f"{command} ended"
            yield program.pid, line
        finally:
            program.send_signal(signal.SIGTERM)
            program.communicate(timeout=30)


def test_only_processes_with_the_key_reach_a_cluster_with_tls(tmp_path: Path) -> None:
    """The key is created with the commands of the documentation."""
    script = re.search(r"```sh\n(mkdir -m 700 keys\n.*?)```", PAGE.read_text(), re.DOTALL)
    assert script is not None
    subprocess.run(["bash", "-ec", script[1]], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run(
        ["bash", "-ec", script[1]], cwd=_folder(tmp_path, "other"), check=True, capture_output=True
    )
    key, other = ({"DASK_CONFIG": str(tmp_path / path / "dask.yaml")} for path in ("keys", "other/keys"))
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700
    dask = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--protocol",
        "tls",
        "--host",
        "127.0.0.1",
    ]
    dask += ["--port", "0", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    with _started(dask, key, r"Scheduler at:\s+tls://") as (scheduler, line):
        address = re.findall(r"tls://\S+", line)[0]
        vkgroup_command = processes.command("vkgroup")
        serve = [*vkgroup_command, "worker", address, "--device", "reference", "--jobs", "1"]
        with _started(serve, key, "takes 1 batch at once") as (worker, _):
            assert listening(worker) == listening(scheduler) == {"127.0.0.1"}
            assert connects(address, key)
            assert not connects(address, other)
            plain = address.replace("tls://", "tcp://")
            assert not connects(plain)
            assert not connects(address)
            conform = [*vkgroup_command, "conform", "--cluster", address, "--out", str(tmp_path / "run")]
            conform += ["--filter", "vote.compute.subgroupAll.bool.all.exact"]
            environment = {**processes.environment(), **key}
            done = subprocess.run(conform, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            refused = subprocess.run(
                [*vkgroup_command, "worker", plain], capture_output=True, text=True, check=False
            )
            assert refused.returncode == 3
            assert "No Dask scheduler answers" in refused.stderr


def _folder(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name


def test_a_worker_without_tls_says_what_that_means(capfd: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    command += ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    with _started(command, {}, r"Scheduler at:\s+tcp://") as (_, line):
        address = re.findall(r"tcp://\S+", line)[0]
        serve = [*processes.command("vkgroup"), "worker", address, "--device", "reference", "--jobs", "1"]
        with _started(serve, {}, "has no TLS: whoever can connect"):
            pass
