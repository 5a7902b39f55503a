"""Settings of a check, run or cost: the options of the command line, then those of a configuration."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidDispatch, InvalidInput
from vkgroup.base.files import require_exists
from vkgroup.check.checking import groups_of
from vkgroup.check.configured import ConfiguredInputs, check_push, find_binding, members_of
from vkgroup.check.members import split_member, with_member
from vkgroup.cli import pairs, shaders
from vkgroup.cli.options import OPTIONS
from vkgroup.cli.parser import Parser
from vkgroup.configuration import Configuration, chosen, read
from vkgroup.configuration.fields import NUMBERS, define_text, triple
from vkgroup.configuration.generated import without_generated
from vkgroup.configuration.reading import FileConfiguration
from vkgroup.configuration.rules import is_rule
from vkgroup.dispatch.stages import pack_specialization
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.spirv import Module, StructType

_CHECKS = ("check", "equal")
"""Commands that generate the inputs that are not given."""


@dataclass(frozen=True)
class Settings:
    """The options of one check or run.

    `options`: the options of the command line, with those of the configuration where it has no own.
    `given`: the configuration; None without ``--with``.
    `name`: the configuration's name; empty without one.
    """

    options: argparse.Namespace
    given: FileConfiguration | None = None
    name: str = ""

    @property
    def fields(self) -> Configuration:
        """The fields of the configuration; all are empty without one."""
        return Configuration() if self.given is None else self.given.fields

    @property
    def seed(self) -> int:
        """The seed of generated inputs."""
        return vars(self.options).get("seed", self.fields.seed) or 0

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
        """Return the arrays of the bindings; a list is for an array of descriptors.

        The value of a block of which only some members are given is a mapping.
        """
        files: list[tuple[str, str]] = []
        members: list[tuple[pairs.Key, str, str, str]] = []
        for name, text in self.options.inputs:
            key, path = split_member(module, name)
            binding = find_binding(module, key, f"--in {name}")
            block = binding.type
            if isinstance(block, StructType) and len(block.members) == 1 and pairs.are_numbers(text):
                # Of one member the numbers alone are enough, as in a configuration.
                path = path or members_of(block, binding)[0]
            if path:
                members.append((key, path, name, text))
            else:
                files.append((name, text))
        own: dict[pairs.Key, Any] = {**pairs.arrays(files)}
        if self.given is None or not self.fields.inputs:
            return self._with_members(own, members, module)
        replaced = [find_binding(module, name, f"--in {name}").id for name, _ in files]
        values: dict[pairs.Key, Any] = {}
        for name, value in self.fields.inputs.items():
            key, path = split_member(module, name)
            if find_binding(module, key, f"{self.given.where}, inputs").id not in replaced:
                values[key] = with_member(values.get(key, {}), path, value) if path else value
        # The file of --in, so that rules of other inputs know its length.
        values |= {name: str(Path(file).absolute()) for name, file in files}
        values = self._with_members(values, members, module)
        return self.configured(module, {str(key): value for key, value in values.items()}).arrays()

    def _with_members(
        self, values: dict[pairs.Key, Any], members: list[tuple[pairs.Key, str, str, str]], module: Module
    ) -> dict[pairs.Key, Any]:
        """Return values by binding in which single members have the values of ``--in B.MEMBER=V``."""
        if members and self.options.command not in _CHECKS:
            raise InvalidInput(f"--in {members[0][2]}: only check generates the other members; give a file.")
        pairs.once([(name, text) for _, _, name, text in members], "--in")
        for key, path, name, text in members:
            place = find_binding(module, key, "--in")
            keys = (key for key in values if find_binding(module, key, "inputs").id == place.id)
            found = next(keys, key)
            whole = values.get(found, {})
            if (
                not isinstance(whole, dict)
                or is_rule(whole, path.split("."))
                or whole.keys() & {"each", "from"}
            ):
                raise InvalidInput(f"--in {name}={text}: the whole binding {found!r} is given too.")
            value = pairs.member(text)
            value = value.tolist() if isinstance(value, np.ndarray) else value
            values[found] = with_member(whole, path, value)
        return values

    def bindings(self, module: Module, given: Mapping[pairs.Key, Any]) -> dict[pairs.Key, Any]:
        """Return all bindings of a run by (set, binding).

        `given`: the arrays of ``--in``, and the zeros of ``--out``, which come before the configuration's.
        """
        self.require_valid(module)
        zeros = self.configured(module, {name: {"fill": 0} for name in self.fields.outputs}).arrays()
        arrays = {**zeros, **_by_place(module, self.inputs(module)), **_by_place(module, given)}
        counts = {(entry.set, entry.binding): entry.count for entry in module.reflection.bindings}
        several = {place: count for place, count in counts.items() if count and count > 1}
        for place in several.keys() & arrays.keys():
            if not isinstance(arrays[place], list):
                arrays[place] = [arrays[place]] * several[place]
        return {**arrays}

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
            find_binding(module, name, f"{where}, outputs")

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
            partial=self.options.command in _CHECKS,
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


def _by_place(module: Module, arrays: Mapping[pairs.Key, Any]) -> dict[pairs.Key, Any]:
    """Return arrays by (set, binding)."""
    bindings = {key: find_binding(module, key, "--in or --out") for key in arrays}
    return {(bindings[key].set, bindings[key].binding): array for key, array in arrays.items()}


def settings_of(arguments: argparse.Namespace) -> list[Settings]:
    """Return the settings of each configuration of ``--with``, or those of the command line alone.

    If the file has several configurations, those of the command line's shader are taken.

    Raises InvalidInput: the file is invalid, no shader is named, or there is no such shader.
    """
    if arguments.with_file is None:
        if arguments.configuration is not None:
            raise InvalidInput("--configuration: only with --with F.")
        if arguments.shader is None:
            parser = Parser(prog=f"vkgroup {arguments.command}")
            OPTIONS[arguments.command].declare(parser)
            parser.error("give SHADER, or --with F with a configuration that names it")
        require_exists(arguments.shader)
        return [Settings(arguments)]
    entries = chosen(read(arguments.with_file), arguments.configuration)
    shader: Path | None = arguments.shader
    if shader is not None:
        require_exists(shader)
        if not shader.is_dir() and arguments.configuration is None and len(entries) > 1:
            entries = [entry for entry in entries if entry.has_shader(shader)]
    if not entries:
        raise InvalidInput(
            f"{arguments.with_file} has no configuration of {shader}: choose another with --configuration."
        )
    if arguments.command in _CHECKS:
        # A run needs the values that an earlier check generated; a check generates them again.
        entries = [
            replace(entry, fields=without_generated(entry.fields, entry.path, entry.where))
            for entry in entries
        ]
    return [Settings(_combined(arguments, entry), entry, entry.name) for entry in entries]


def settings_of_run(arguments: argparse.Namespace) -> Settings:
    """Return the settings of ``vkgroup run`` with the configuration of ``--with``.

    Raises InvalidInput: the file has several configurations and none is chosen, or this is a draw.
    """
    settings = settings_of(arguments)
    if len(settings) > 1:
        names = ", ".join(entry.name for entry in settings[:20])
        raise InvalidInput(
            f"{arguments.with_file} has {len(settings)} configurations: choose one of them with"
            f" --configuration NAME. There are: {names}."
        )
    if arguments.size is not None:
        raise InvalidInput("--with: only for compute shaders; leave out --size.")
    return settings[0]


def _combined(arguments: argparse.Namespace, entry: FileConfiguration) -> argparse.Namespace:
    """Return the options with those of a configuration where the command line has no own."""
    fields = entry.fields
    options = argparse.Namespace(**vars(arguments))
    for option in OPTIONS[arguments.command].options:
        value = getattr(fields, option.field) if option.field else None
        if value is None or option.key in arguments.given or option.is_repeated:
            continue
        setattr(options, option.key, triple(value) if option.field in NUMBERS else value)
    if arguments.command == "run" and "subgroup_size" not in arguments.given:
        # A run has one size; of several, the device chooses its own.
        sizes = triple(fields.subgroup_sizes) or ()
        options.subgroup_size = sizes[0] if len(sizes) == 1 else None
    if arguments.command in _CHECKS and "outputs" not in arguments.given:
        options.outputs = list(fields.outputs)
    defined = {shaders.define(text)[0] for text in arguments.defines}
    defines = [
        f"{name}={define_text(value)}" for name, value in fields.defines.items() if name not in defined
    ]
    options.defines = [*defines, *arguments.defines]
    folders = [entry.path(name) for name in fields.include]
    if missing := [str(folder) for folder in folders if not folder.is_dir()]:
        raise InvalidInput(f"{entry.where}, include: there is no folder {', '.join(missing)}.")
    options.include_paths = [*arguments.include_paths, *map(str, folders)]
    options.shader = _shader(arguments, entry)
    options.configured_push = fields.push
    return options


def _shader(arguments: argparse.Namespace, entry: FileConfiguration) -> Path:
    """Return the shader of a configuration: the command line's, or the configuration's.

    If the command line names a folder, a shader that is not relative to the file is relative to that.
    """
    shader: Path | None = arguments.shader
    name = entry.fields.shader
    if shader is not None and not shader.is_dir():
        return shader
    if name is None:
        raise InvalidInput(
            f"{entry.where}: there is no field 'shader', and the command line names no shader."
        )
    path = entry.path(name)
    inside = path if shader is None else shader / name
    return inside if inside.exists() and not path.exists() else path
