"""Public names whose modules are in folders of the package: they can be imported as before."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pkgutil import walk_packages

import pytest

import vkgroup
from vkgroup.base import errors as base_errors


def test_every_error_has_its_public_name() -> None:
    public = importlib.import_module("vkgroup.errors")
    own = {
        name
        for name, value in vars(base_errors).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == base_errors.__name__
    }
    assert own == set(public.__all__)
    assert all(getattr(public, name) is getattr(base_errors, name) for name in own)


PACKAGES = [module.name for module in walk_packages(vkgroup.__path__, "vkgroup.") if module.ispkg]


@pytest.mark.parametrize("name", ["vkgroup", *PACKAGES])
def test_every_name_of_a_package_is_there(name: str) -> None:
    package = importlib.import_module(name)
    assert [public for public in getattr(package, "__all__", ()) if not hasattr(package, public)] == []


@pytest.mark.parametrize(
    ("statement", "module"),
    [
        ("from vkgroup.results.run import Run as name", "vkgroup.record.run"),
        ("from vkgroup.results.record import Result as name", "vkgroup.record.record"),
        ("import vkgroup.results.record; name = vkgroup.results.record.Status", "vkgroup.record.record"),
        ("from vkgroup.errors import NoDevice as name", "vkgroup.base.errors"),
        ("import vkgroup; name = vkgroup.errors.CompileError", "vkgroup.base.errors"),
        ("from vkgroup.interop import torch_pool as name", "vkgroup.dispatch.interop"),
        ("import vkgroup; name = vkgroup.interop.cupy_allocator", "vkgroup.dispatch.interop"),
        ("from vkgroup.testing import check_shader as name", "vkgroup.testing.assertions"),
        ("import vkgroup; name = vkgroup.testing.SizesDiffer", "vkgroup.testing.assertions"),
    ],
)
def test_a_name_is_imported_by_its_public_path(statement: str, module: str) -> None:
    code = f"{statement}; print(name.__module__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == module
