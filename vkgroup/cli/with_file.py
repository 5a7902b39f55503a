"""``--with``: options of ``check`` and ``run`` from a configuration; the command line's own come first."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from vkgroup.base.errors import InvalidDispatch, InvalidInput
from vkgroup.check.configured import ConfiguredInputs, check_push
from vkgroup.check.preparation import groups_of
from vkgroup.cli import pairs, shaders
from vkgroup.compiler import TargetEnvironment
from vkgroup.configuration import Configuration, chosen, read
from vkgroup.configuration.fields import define_text, triple
from vkgroup.configuration.generated import without_generated
from vkgroup.configuration.reading import FileConfiguration
from vkgroup.dispatch.specialization import pack_specialization
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.spirv import Module

_SAME = (
    *("stage", "dialect", "compiler", "target", "entry_point", "optimize", "lower_legacy", "register_shift"),
    *("seed", "full_subgroups", "lanes", "size_control", "timeout", "step_limit"),
)
"""Fields with the name and the type of the option that they stand for."""


@dataclass(frozen=True)
class Settings:
    """The options of one check or run.

    `options`: the options of the command line, with those of the configuration where it has no own.
    `given`: the configuration; None without ``--with``.
    `name`: the configuration's name; empty without one.
    `own`: the names of the options that replace values of the configuration.
    """

    options: argparse.Namespace
    given: FileConfiguration | None = None
    name: str = ""
    own: frozenset[str] = frozenset()

    @property
    def fields(self) -> Configuration:
        """The fields of the configuration; all are empty without one."""
        return Configuration() if self.given is None else self.given.fields

    @property
    def seed(self) -> int:
        """The seed of generated inputs."""
        seed: int | None = vars(self.options).get("seed")
        if seed is None:
            seed = self.fields.seed
        return seed or 0

    def target(self, default: TargetEnvironment) -> TargetEnvironment:
        """Return the compilation target."""
        version = vars(self.options).get("target")
        return default if version is None else shaders.TARGETS[version]

    def push(self) -> dict[str, Any]:
        """Return the push constants by name."""
        own = {name: pairs.values(text) for name, text in pairs.once(self.options.push, "--push").items()}
        return {**self.fields.push, **own}

    def specialization(self, module: Module) -> dict[int | str, Any]:
        """Return the specialization constants by id or name.

        An option replaces the constant of the file also if one of them has its id and the other its name.
        """
        given = pairs.once(self.options.spec, "--spec")
        own = {pairs.constant(name): pairs.value(text) for name, text in given.items()}
        fields = {pairs.constant(name): value for name, value in self.fields.specialization.items()}
        constants = module.reflection.specialization_constants
        ids: dict[int | str, int] = {entry.name: entry.id for entry in constants}
        replaced = {ids.get(key, key) for key in own}
        return {key: value for key, value in fields.items() if ids.get(key, key) not in replaced} | own

    def inputs(self, module: Module) -> dict[pairs.Key, Any]:
        """Return the arrays of the bindings; a list is for an array of descriptors."""
        own = pairs.arrays(self.options.inputs)
        if self.given is None or not self.fields.inputs:
            return {**own}
        configured = self.configured(module)
        replaced = [configured.binding(name, f"--in {name}").id for name, _ in self.options.inputs]
        values = {
            name: value
            for name, value in self.fields.inputs.items()
            if configured.binding(name, f"{self.given.where}, inputs").id not in replaced
        }
        # The file of --in, so that rules of other inputs know its length.
        values |= {name: str(Path(file).absolute()) for name, file in self.options.inputs}
        return self.configured(module, values).arrays()

    def require_valid(self, module: Module) -> None:
        """Raise InvalidInput, with the file and the field, if a value of the configuration fits nothing."""
        if self.given is None:
            return
        where, reflection = self.given.where, module.reflection
        given = {pairs.constant(name): value for name, value in self.fields.specialization.items()}
        try:
            pack_specialization(reflection.specialization_constants, given)
        except InvalidDispatch as error:
            raise InvalidInput(f"{where}, specialization: {error}") from None
        check_push(reflection.push_constants, self.fields.push, f"{where}, push")
        for name in self.fields.outputs:
            self.configured(module).binding(name, f"{where}, outputs")

    def configured(self, module: Module, values: dict[str, Any] | None = None) -> ConfiguredInputs:
        """Return the inputs of the configuration, or other values, for a module."""
        assert self.given is not None
        return ConfiguredInputs(
            module=module,
            values=self.fields.inputs if values is None else values,
            where=self.given.where,
            path=self.given.path,
            seed=self.seed,
            invocations=self._invocations(module),
        )

    def _invocations(self, module: Module) -> Callable[[], int]:
        """Return a function that returns the number of invocations of the dispatch."""

        def count() -> int:
            constants = module.reflection.specialization_constants
            values, _ = pack_specialization(constants, self.specialization(module))
            names = {entry.name for entry in module.reflection.entry_points}
            entry = self.options.entry_point if self.options.entry_point in names else None
            program = ExecutableShader(module, entry, values)
            x, y, z = groups_of(self.options.groups, program)
            a, b, c = program.local_size
            return x * y * z * a * b * c

        return count


def settings_of(arguments: argparse.Namespace) -> list[Settings]:
    """Return the settings of each configuration of ``--with``, or those of the command line alone.

    Raises InvalidInput: the file is invalid, or no shader is named.
    """
    if arguments.with_file is None:
        if arguments.configuration is not None:
            raise InvalidInput("--configuration: only with --with F.")
        if arguments.shader is None:
            _parser(arguments.command).error("give SHADER, or --with F with a configuration that names it")
        return [Settings(arguments)]
    entries = chosen(read(arguments.with_file), arguments.configuration)
    own = _own(arguments)
    if arguments.command == "check":
        # A run needs the values that a check generates.
        entries = [replace(entry, fields=_given(entry)) for entry in entries]
    return [Settings(_combined(arguments, entry, own), entry, entry.name, own) for entry in entries]


def _given(entry: FileConfiguration) -> Configuration:
    """Return a configuration without values that an earlier check generated, which are generated again."""
    return without_generated(entry.fields, entry.path, entry.where)


def _parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of one command."""
    parser = argparse.ArgumentParser(prog=f"vkgroup {command}")
    getattr(import_module("vkgroup.cli.options.shaders"), f"add_{command}")(parser)
    return parser


def _own(arguments: argparse.Namespace) -> frozenset[str]:
    """Return the names of the options that the command line has, even with their default values."""
    parser = _parser(arguments.command)
    for action in parser._actions:
        action.default = argparse.SUPPRESS
    words = list(arguments.words)
    words.remove(arguments.command)
    return frozenset(vars(parser.parse_args(words)))


def _combined(
    arguments: argparse.Namespace, entry: FileConfiguration, own: frozenset[str]
) -> argparse.Namespace:
    """Return the options with those of a configuration where the command line has no own."""
    fields = entry.fields
    options = argparse.Namespace(**vars(arguments))
    for name in _SAME:
        value = getattr(fields, name)
        if value is not None and name not in own:
            setattr(options, name, value)
    for name in ("groups", "local_size"):
        if (numbers := triple(getattr(fields, name))) is not None and name not in own:
            setattr(options, name, numbers)
    sizes = triple(fields.subgroup_sizes)
    if sizes is not None and "subgroup_size" not in own:
        # A run has one size; of several, the device chooses its own.
        is_run = arguments.command == "run"
        options.subgroup_size = sizes if not is_run else sizes[0] if len(sizes) == 1 else None
    if arguments.command == "check" and "outputs" not in own:
        options.outputs = list(fields.outputs)
    defined = {shaders.define(text)[0] for text in arguments.defines}
    defines = [
        f"{name}={define_text(value)}" for name, value in fields.defines.items() if name not in defined
    ]
    options.defines = [*defines, *arguments.defines]
    options.include_paths = [*arguments.include_paths, *(str(entry.path(name)) for name in fields.include)]
    options.shader = _shader(arguments, entry)
    return options


def _shader(arguments: argparse.Namespace, entry: FileConfiguration) -> Path:
    """Return the shader of a configuration: the command line's, or the configuration's.

    If the command line names a folder, the shader is relative to it.
    """
    shader: Path | None = arguments.shader
    name = entry.fields.shader
    if shader is not None and not shader.is_dir():
        return shader
    if name is None:
        raise InvalidInput(
            f"{entry.where}: there is no field 'shader', and the command line names no shader."
        )
    return entry.path(name) if shader is None else shader / name
