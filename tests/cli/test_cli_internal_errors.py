"""Exceptions of vkgroup on the command line: exit code 2, never that of a verdict."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vkgroup.base import errors
from vkgroup.cli import check, devices
from vkgroup.cli.main import exit_code_of, main


@pytest.mark.parametrize("error", [ZeroDivisionError("planted"), MemoryError(), RecursionError("planted")])
def test_an_exception_exits_with_2(error: Exception, monkeypatch, capsys) -> None:
    def planted(arguments: object) -> int:
        raise error

    monkeypatch.setattr(devices, "execute", planted)
    assert main(["devices"]) == 2
    err = capsys.readouterr().err
    assert f"vkgroup: internal error ({errors.describe(error)}): no verdict was reached." in err
    assert "Traceback" in err


def test_an_exception_on_a_module_that_was_not_validated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def planted(arguments: object) -> int:
        raise IndexError("planted")

    monkeypatch.setattr(check, "execute", planted)
    assert main(["check", str(tmp_path / "x.spv"), "--no-validate"]) == 2
    assert capsys.readouterr().err == (
        "vkgroup: vkgroup fails on a module that was not validated (IndexError: planted); no verdict was"
        " reached. Repeat the command without --no-validate: the validator says what is wrong.\n"
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.DriverError("a call failed", "VK_ERROR_UNKNOWN"), 1),
        (errors.DeviceLost("gone"), 1),
        (errors.DispatchTimeout("no end"), 1),
        (errors.DriverError("The buffer is closed; make a new one."), 2),
        (errors.ValidationError("wrong use of Vulkan", "VK_ERROR_VALIDATION_FAILED"), 2),
        (errors.InternalError("planted"), 2),
        (errors.CompileError("planted"), 2),
        (errors.OutOfMemory("planted", "VK_ERROR_OUT_OF_HOST_MEMORY"), 3),
        (errors.NoDevice("planted"), 3),
    ],
)
def test_exit_codes_of_errors(error: errors.VkgroupError, code: int) -> None:
    assert exit_code_of(error) == code


def test_another_error_of_an_import_is_internal(monkeypatch, capsys) -> None:
    def planted(arguments: object) -> int:
        try:
            raise OSError("libx.so: cannot open shared object file: No such file or directory")
        except OSError as error:
            raise ImportError("planted") from error

    monkeypatch.setattr(devices, "execute", planted)
    assert main(["devices"]) == 2
    assert "internal error (ImportError: planted)" in capsys.readouterr().err


def test_a_shared_library_that_the_system_lacks_is_named(tmp_path: Path) -> None:
    package = tmp_path / "numpy"
    package.mkdir()
    (package / "__init__.py").write_text(
        "try:\n"
        "    raise ImportError('libstdc++.so.6: cannot open shared object file: No such file or directory')\n"
        "except ImportError as error:\n"
        "    raise ImportError('Importing the C extensions failed.') from error\n"
    )
    found = subprocess.run(
        [sys.executable, "-m", "vkgroup", "conform", "--list"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 2
    assert found.stderr == (
        "vkgroup: a Python package cannot be imported. This system lacks the library libstdc++.so.6:"
        " install the package that has it (Debian and Ubuntu: libstdc++6).\n"
    )
