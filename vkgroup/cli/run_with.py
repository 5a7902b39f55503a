"""``vkgroup run --with``: a run with the groups, constants and inputs of a configuration."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from vkgroup.base.errors import InvalidInput
from vkgroup.check.configured import ConfiguredInputs
from vkgroup.cli import pairs
from vkgroup.cli.with_file import Settings, settings_of
from vkgroup.spirv import Module


class ConfiguredRun(Settings):
    """The settings of a run."""

    def bindings(self, module: Module, given: Mapping[pairs.Key, Any]) -> dict[pairs.Key, Any]:
        """Return all bindings by (set, binding).

        `given`: the arrays of ``--in``, and the zeros of ``--out``, which come before the configuration's.
        """
        self.require_valid(module)
        find = self.configured(module)
        zeros = self.configured(module, {name: {"fill": 0} for name in self.fields.outputs}).arrays()
        arrays = {**zeros, **_by_place(find, self.inputs(module)), **_by_place(find, given)}
        counts = {(entry.set, entry.binding): entry.count for entry in module.reflection.bindings}
        several = {place: count for place, count in counts.items() if count and count > 1}
        for place in several.keys() & arrays.keys():
            if not isinstance(arrays[place], list):
                arrays[place] = [arrays[place]] * several[place]
        return {**arrays}


def _by_place(find: ConfiguredInputs, arrays: Mapping[pairs.Key, Any]) -> dict[pairs.Key, Any]:
    """Return arrays by (set, binding)."""
    bindings = {key: find.binding(key, "--in or --out") for key in arrays}
    return {(bindings[key].set, bindings[key].binding): array for key, array in arrays.items()}


def configured_run(arguments: argparse.Namespace) -> ConfiguredRun:
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
    (found,) = settings
    return ConfiguredRun(found.options, found.given, found.name, found.own)
