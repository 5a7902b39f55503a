"""Virtual environment of a clone: created, and updated when necessary."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vkgroup.base.errors import VkgroupError

_STAMP = "vkgroup-setup.json"

# If Python lacks ensurepip (Debian has it in the package python3-venv), pip is downloaded as this wheel. It
# is verified by its SHA-256, so hosts without certificates work too.
_PIP_URL = (
    "https://files.pythonhosted.org/packages/"
    "07/25/ee8c38ae72d66b844ce8eb9711ba905dba21ca1a8a0c960057c41cd23337/"
    "pip-26.3-py3-none-any.whl"
)
_PIP_SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"


class SetupError(VkgroupError):
    """The environment cannot be set up; the message says what to do."""


@dataclass(frozen=True)
class Environment:
    """The virtual environment ``.venv`` of a clone."""

    root: Path  # the clone

    @property
    def folder(self) -> Path:
        """Folder of the environment."""
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        """Python executable of the environment."""
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    def is_ready(self, extras: frozenset[str] = frozenset()) -> bool:
        """Return whether vkgroup is installed with `extras`, according to the current pyproject.toml."""
        stamp = self._stamp()
        return (
            self._is_usable()
            and stamp.get("project") == self._project()
            and extras <= set(stamp.get("extras", "").split())
        )

    def prepare(self, extras: frozenset[str] = frozenset(), *, wheels: Path | None = None) -> None:
        """Create or update the environment, with optional dependencies of pyproject.toml such as ``test``.

        If `wheels` is given, pip installs from this folder without network. Raises SetupError if the
        environment cannot be created; the message says what to install or to do.
        """
        before = self._stamp()
        if not self._is_usable():
            _make(self.folder)
            before = {}
        (self.folder / _STAMP).unlink(missing_ok=True)
        environment = _pip_environment(wheels)
        _provide_pip(self.python, self.folder, environment, wheels)
        say("installing vkgroup and its dependencies")
        extras |= set(before.get("extras", "").split())
        target = f"{self.root}[{','.join(sorted(extras))}]" if extras else str(self.root)
        command = [str(self.python), "-m", "pip", "install", "--quiet", "--editable", target]
        if subprocess.run(command, env=environment, check=False).returncode:
            raise SetupError(
                "pip could not install the dependencies of vkgroup (see its messages above). Without "
                "network, create a bundle on another host (`make bundle`) and use it with OFFLINE=FOLDER."
            )
        after = {**self._identity(), "project": self._project(), "extras": " ".join(sorted(extras))}
        (self.folder / _STAMP).write_text(json.dumps(after) + "\n", encoding="utf-8")

    def _identity(self) -> dict[str, str]:
        # Scripts in the environment contain the clone's path: a moved clone needs a new environment.
        return {"python": sys.version, "root": str(self.root)}

    def _project(self) -> str:
        return hashlib.sha256((self.root / "pyproject.toml").read_bytes()).hexdigest()

    def _stamp(self) -> dict[str, str]:
        try:
            stamp = json.loads((self.folder / _STAMP).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return stamp if isinstance(stamp, dict) else {}

    def _is_usable(self) -> bool:
        """Return whether the environment was created here with this Python, and its Python still starts."""
        stamp = self._stamp()
        if any(stamp.get(name) != value for name, value in self._identity().items()):
            return False
        try:
            return subprocess.run([str(self.python), "-c", ""], check=False).returncode == 0
        except OSError:
            return False


def say(message: str) -> None:
    """Print a progress message to standard error."""
    print(f"vkgroup: {message}", file=sys.stderr, flush=True)


def _make(folder: Path) -> None:
    if importlib.util.find_spec("venv") is None:
        raise SetupError(
            f"{sys.executable} has no module `venv`. Install it (Debian, Ubuntu: "
            "sudo apt-get install python3-venv), or choose another Python ≥ 3.11: make PYTHON=…"
        )
    say(f"creating a virtual environment with Python {sys.version.split()[0]}")
    if folder.exists():
        shutil.rmtree(folder)
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr or done.stdout).strip()
        raise SetupError(f"The virtual environment {folder} could not be created: {reason}")


def _pip_environment(wheels: Path | None) -> Mapping[str, str]:
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_USER": "0"}
    if wheels is not None:
        # Environment variables, because pip's build environments inherit them.
        environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels.resolve().as_uri()}
        environment |= {"PIP_CONFIG_FILE": os.devnull}
    return environment


def _provide_pip(python: Path, folder: Path, environment: Mapping[str, str], wheels: Path | None) -> None:
    if _succeeds([str(python), "-m", "pip", "--version"], environment):
        return
    if wheels is not None:
        pips = sorted(wheels.glob("pip-*.whl"))
        if not pips:
            raise SetupError("The bundle has no wheel of pip. Create it again with `make bundle`.")
        wheel = pips[-1]
    elif _succeeds([str(python), "-m", "ensurepip", "--default-pip"], environment):
        return
    else:
        wheel = _download_pip(folder)
    # pip can run from its wheel and install itself.
    command = [str(python), f"{wheel}/pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupError(f"pip could not be installed: {(done.stderr or done.stdout).strip()}")


def _succeeds(command: list[str], environment: Mapping[str, str]) -> bool:
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0


def _download_pip(folder: Path) -> Path:
    say("fetching pip")
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # verified by the checksum below
    try:
        with urllib.request.urlopen(_PIP_URL, timeout=60, context=context) as answer:
            data = answer.read()
    except (urllib.error.URLError, OSError) as error:
        raise SetupError(
            f"pip could not be fetched from {_PIP_URL}: {error}. Install it "
            "(Debian, Ubuntu: sudo apt-get install python3-venv), or, without network, create a bundle "
            "on another host (`make bundle`) and use it with OFFLINE=FOLDER."
        ) from error
    if hashlib.sha256(data).hexdigest() != _PIP_SHA256:
        raise SetupError(
            f"The download from {_PIP_URL} has a wrong SHA-256; nothing was installed. Try again."
        )
    wheel = folder / _PIP_URL.rsplit("/", 1)[1]
    wheel.write_bytes(data)
    return wheel
