"""Request of a check: the shader, its inputs, where and how it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy.typing as npt

from vkgroup.base.choices import CHECK_SIZES, CHECK_STEP_LIMIT, CHECK_TIMEOUT
from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import printable, read_bytes
from vkgroup.check.host import Guarantees
from vkgroup.check.inputs import Key
from vkgroup.compiler import TargetEnvironment, assemble, compile_file, validate
from vkgroup.compiler.front_ends import compiler_of
from vkgroup.device import DeviceInfo
from vkgroup.reference.interpreter.program.form import DERIVATIVE_GROUPS
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spirv import EntryPoint, Module


@dataclass(frozen=True)
class CheckRequest:
    """One check. The fields are the parameters of `vkgroup.check.checking.check`."""

    shader: Module | str | os.PathLike[str]
    sizes: Sequence[int] | None = None
    groups: Sequence[int] | None = None
    inputs: Mapping[Key, npt.NDArray[Any] | Sequence[npt.NDArray[Any]]] | None = None
    outputs: Sequence[Key] = ()
    push: Mapping[str, Any] | None = None
    specialization: Mapping[int | str, Any] = field(default_factory=dict)
    entry_point: str | None = None
    defines: Mapping[str, str | int] = field(default_factory=dict)
    target: TargetEnvironment | str | None = None
    seed: int = 0
    devices: Sequence[DeviceInfo] = ()
    #: Whether a device whose driver executes nothing is left out, and named; otherwise NoDevice is raised.
    skip_idle_devices: bool = False
    timeout: float = CHECK_TIMEOUT
    step_limit: int = CHECK_STEP_LIMIT
    host: Guarantees = field(default_factory=Guarantees)
    name: str | None = None
    command: str = ""
    compiler: str = ""
    size: Sequence[int] | None = None
    sources: Path | None = None

    @cached_property
    def module(self) -> Module:
        """The module: compiled with debug lines and without optimisation, or read as SPIR-V.

        Raises InvalidInput if the file cannot be read; CompileError or InvalidModule if it is wrong.
        """
        if isinstance(self.shader, Module):
            return self.shader
        path = Path(self.shader)
        if path.suffix not in (".spv", ".spvasm"):
            return compile_file(
                path,
                debug=True,
                target=self.target,
                entry_point=self.entry_point or "main",
                defines=self.defines,
            )
        try:
            data = read_bytes(path)
        except OSError as error:
            raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
        if path.suffix == ".spvasm":
            module = assemble(data.decode("utf-8", "replace"), self.target, name=str(path))
        else:
            module = Module.from_bytes(data)
        validate(module, self.target)
        return module

    @property
    def entry(self) -> EntryPoint:
        """The entry point to check."""
        return self.module.reflection.entry_point(self.entry_point)

    @property
    def title(self) -> str:
        """The shader's name in the report."""
        return printable(self.name or ("shader" if isinstance(self.shader, Module) else str(self.shader)))

    @property
    def compiler_name(self) -> str:
        """The compiler that made the module, with its version; empty if it is not known."""
        return self.compiler or ("" if isinstance(self.shader, Module) else compiler_of(Path(self.shader)))

    @property
    def run_sizes(self) -> list[int]:
        """The subgroup sizes to run, in ascending order: the given ones, or those that the shader allows."""
        if self.sizes is not None:
            return sorted(set(self.sizes) - {0})
        needs_quads = self.entry.stage == "fragment" or DERIVATIVE_GROUPS.keys() & self.entry.execution_modes
        sizes = {*CHECK_SIZES, *(device.subgroup_size for device in self.devices)} - {0}
        return sorted(size for size in sizes if not needs_quads or size >= QUAD_SIZE)
