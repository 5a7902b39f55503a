"""The package `vkgroup.spec`: its imports and its features against each other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import vkgroup.spec
from vkgroup.spec.categories import OPERATION_BITS, Category
from vkgroup.spec.needs import CAPABILITIES

MODULES = sorted(
    path.stem for path in Path(vkgroup.spec.__file__).parent.glob("*.py") if path.stem != "__init__"
)


def test_it_imports_the_standard_library_and_itself_alone() -> None:
    code = f"import sys\nbefore = set(sys.modules)\nfrom vkgroup.spec import {', '.join(MODULES)}\n"
    code += "print(*{name.partition('.')[0] for name in set(sys.modules) - before})\n"
    code += "print(*(name for name in sys.modules if name.startswith('vkgroup.')))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    packages, modules = (set(line.split()) for line in output.splitlines())
    assert packages - {"vkgroup"} <= sys.stdlib_module_names
    assert modules == {"vkgroup.spec", *(f"vkgroup.spec.{name}" for name in MODULES)}


def test_the_capability_of_a_category_needs_its_bit_or_its_feature() -> None:
    for category in Category:
        needs = CAPABILITIES[category.capability]
        assert needs == "shaderSubgroupRotate" if "ROTATE" in category.name else needs in OPERATION_BITS
