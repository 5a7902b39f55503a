"""The GitHub action, GitLab's example and the pre-commit hook: their commands, run in a clean system.

As root the system is a new root folder with Debian's smallest set of packages, Python and git (debootstrap),
in which the commands run with chroot. Another user runs them with an empty environment and a new home folder.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

_ROOT = Path(__file__).resolve().parents[2]
_PAGE = _ROOT / "docs/start/continuous-integration.md"
_NOT_COPIED = shutil.ignore_patterns(".git", ".venv", "build", "*_cache", "__pycache__", "vkgroup-results")
_PACKAGES = "python3,python3-venv,git,ca-certificates"

_SHADER = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) writeonly buffer B { uint b[]; };
void main() { b[gl_GlobalInvocationID.x] = subgroupAdd(a[gl_GlobalInvocationID.x]); }
"""


@dataclass(frozen=True)
class System:
    """A clean system; paths are those outside of it.

    `root`: its root folder; None if the commands run in the system of the test.
    """

    root: Path | None
    work: Path

    def inside(self, path: Path) -> str:
        """Return a path as the commands see it."""
        return str(path) if self.root is None else f"/{path.relative_to(self.root)}"

    def run(self, script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a script of bash in a folder, which stops at the first error, as on GitHub and GitLab."""
        given = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        given |= {"PATH": path, "HOME": self.inside(self.work / "home"), "LANG": "C.UTF-8", **variables}
        assignments = [f"{name}={value}" for name, value in given.items()]
        whole = f"cd {shlex.quote(self.inside(folder))}\n{script}"
        command = ["env", "-i", *assignments, "bash", "-eo", "pipefail", "-c", whole]
        if self.root is not None:
            mounts = "".join(f"mount --rbind /{name} '{self.root}/{name}' && " for name in ("proc", "dev"))
            enter = f'{mounts}exec chroot "$0" "$@"'
            command = ["unshare", "--mount", "sh", "-c", enter, str(self.root), *command]
        return subprocess.run(command, capture_output=True, text=True, timeout=1200)


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> System:
    """A clean system with this repository and an empty home folder."""
    base = tmp_path_factory.mktemp("system")
    root = None
    if os.geteuid() == 0:
        root = base / "root"
        command = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", str(root)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr
        for file in ("etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt"):
            shutil.copy(f"/{file}", root / file)
        # How this machine reaches Debian's mirror.
        shutil.copytree("/etc/apt/apt.conf.d", root / "etc/apt/apt.conf.d", dirs_exist_ok=True)
    work = (root or base) / "work"
    (work / "home").mkdir(parents=True)
    shutil.copytree(_ROOT, work / "vkgroup", ignore=_NOT_COPIED)
    return System(root, work)


@pytest.fixture
def project(system: System, request: pytest.FixtureRequest) -> Path:
    """A project with one shader, which has a finding."""
    folder = system.work / re.sub(r"\W+", "-", request.node.name)
    (folder / "shaders").mkdir(parents=True)
    (folder / "shaders/sum.comp").write_text(_SHADER)
    return folder


def _action(system: System, project: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """Run the steps of the action; return the last one."""
    action = yaml.safe_load((_ROOT / "action.yml").read_text())
    inputs = {name: entry.get("default") for name, entry in action["inputs"].items()} | given
    temporary = system.work / "runner"
    temporary.mkdir(exist_ok=True)
    paths = project / "path.txt"
    paths.touch()
    done = None
    for step in action["runs"]["steps"]:
        if "run" not in step:
            continue
        variables = {
            name: re.sub(r"\${{ inputs\.(\w+) }}", lambda found: inputs[found[1]], text)
            for name, text in step["env"].items()
        }
        assert "${{" not in step["run"] + "".join(variables.values())
        assert step["shell"] == "bash"
        added = ":".join(reversed(paths.read_text().split()))
        done = system.run(
            f'export PATH="{added}${{ADDED:+:}}$PATH"\n{step["run"]}',
            project,
            ADDED=added,
            RUNNER_TEMP=system.inside(temporary),
            GITHUB_ACTION_PATH=system.inside(system.work / "vkgroup"),
            GITHUB_PATH=system.inside(paths),
            GITHUB_WORKSPACE=system.inside(project),
            **variables,
        )
        if done.returncode:
            break
    assert done is not None
    return done


@pytest.mark.slow
@pytest.mark.timeout(1800)
class TestInACleanSystem:
    """The commands of the action, of the example for GitLab, and of the hook."""

    def test_the_action_checks_shaders(self, system: System, project: Path) -> None:
        done = _action(system, project, arguments="shaders --no-cache")
        assert done.returncode == 1, done.stdout + done.stderr
        assert "::error title=vkgroup check%3A differs,file=shaders/sum.comp,line=6::" in done.stdout
        (run,) = json.loads((project / "vkgroup-results/vkgroup.sarif").read_text())["runs"]
        (result,) = run["results"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "shaders/sum.comp", "uriBaseId": "%SRCROOT%"}
        junit = ElementTree.parse(project / "vkgroup-results/junit.xml")
        assert len(junit.findall(".//failure")) == 1
        text = _SHADER.replace("void main", "// vkgroup: allow(differs): tried\nvoid main")
        (project / "shaders/sum.comp").write_text(text)
        again = _action(system, project, arguments='"shaders" --no-cache')
        assert again.returncode == 0, again.stdout + again.stderr

    def test_the_action_tests_a_driver(self, system: System, project: Path) -> None:
        words = "--device swiftshader --filter 'vote.compute.*.int.all.*'"
        done = _action(
            system, project, command="conform", arguments=words, drivers="swiftshader", compilers=""
        )
        assert done.returncode == 0, done.stdout + done.stderr
        summary = json.loads((project / "vkgroup-results/summary.json").read_text())
        assert summary["totals"]["Pass"] > 0
        assert (project / "vkgroup-results/junit.xml").exists()

    def test_the_action_refuses_other_commands(self, system: System, project: Path) -> None:
        done = _action(system, project, command="bench", arguments="", compilers="")
        assert done.returncode == 2
        assert "command: check or conform, not bench" in done.stderr

    @pytest.mark.parametrize(("job", "code"), [("shaders", 1), ("driver", 0)])
    def test_gitlab(self, job: str, code: int, system: System, project: Path) -> None:
        (text,) = re.findall(r"```yaml\n(\.vkgroup:.*?)```", _PAGE.read_text(), re.DOTALL)
        example = yaml.safe_load(text)
        common = example[".vkgroup"]
        (project / "ci").mkdir()
        (project / "ci/swiftshader-fails.txt").touch()
        variables = {
            **common["variables"],
            "CI_PROJECT_DIR": system.inside(project),
            "VKGROUP_CACHE": system.inside(project / ".vkgroup-cache"),
            "VKGROUP": system.inside(system.work / "vkgroup"),
            "CI_NODE_INDEX": "1",
            "CI_NODE_TOTAL": "2000",
        }
        steps = [*common["before_script"], *example[job]["script"]]
        if system.root is None:  # only root installs git, which is there
            steps = [step for step in steps if "apt-get" not in step]
        # The image has a Python in which pip may install.
        script = "\n".join(["python3 -m venv venv", "export PATH=$PWD/venv/bin:$PATH", *steps])
        done = system.run(script, project, **variables)
        assert done.returncode == code, done.stdout + done.stderr
        reports = {**common["artifacts"]["reports"], **example[job]["artifacts"]["reports"]}
        assert all((project / report).exists() for report in reports.values())

    def test_the_hook(self, system: System, project: Path) -> None:
        (hook,) = yaml.safe_load((_ROOT / ".pre-commit-hooks.yaml").read_text())
        names = ("shaders/sum.comp", "a.comp.glsl", "b.hlsl", "c.wgsl", "d.slang", "e.frag", "comp.txt")
        chosen = [name for name in names if re.search(hook["files"], name)]
        assert chosen == ["shaders/sum.comp", "a.comp.glsl", "b.hlsl", "c.wgsl", "d.slang"]
        shutil.copy(project / "shaders/sum.comp", project / "other.comp")
        script = "\n".join(
            [
                "python3 -m venv venv",
                f"venv/bin/pip install --quiet '{system.inside(system.work / 'vkgroup')}'",
                f"venv/bin/{hook['entry']} --subgroup-size 8,32 shaders/sum.comp other.comp",
            ]
        )
        done = system.run(script, project)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "2 with findings" in done.stdout


def test_the_example_for_github_gives_inputs_that_the_action_has() -> None:
    inputs: dict[str, Any] = yaml.safe_load((_ROOT / "action.yml").read_text())["inputs"]
    (text,) = re.findall(r"```yaml\n(name: shaders .*?)```", _PAGE.read_text(), re.DOTALL)
    jobs = yaml.safe_load(text)["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"] if step["uses"].startswith("OWNER/")]
    assert len(steps) == 2
    for step in steps:
        assert step["with"].keys() <= inputs.keys()
        required = {name for name, entry in inputs.items() if entry.get("required")}
        assert required <= step["with"].keys()
