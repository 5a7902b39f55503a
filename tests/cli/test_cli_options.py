"""The table of options: what parsing, printed commands, configurations and the page of them take from it."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

from vkgroup.check import CheckRequest, check
from vkgroup.cli.options import OPTIONS
from vkgroup.cli.options.table import changed, words_of
from vkgroup.cli.parser import COMMANDS, parse
from vkgroup.configuration.fields import FIELDS

PAGE = Path(__file__).parents[2] / "docs/shaders/configuration.md"

REPEATED = [
    *("-D", "A=1", "-D", "F(x)=x", "-I", "folder", "--stage", "compute", "--dialect", "hlsl"),
    *("--target", "1.3", "--optimize", "size", "--out", "b", "--push", "n=1,2", "--spec", "0=true"),
    *("--entry-point", "other", "--compiler", "dxc", "--local-size", "8,8", "--register-shift", "b=0,t=16"),
    *("--groups", "4,2", "--size", "15,9", "--seed", "7", "--strict", "--full-subgroups"),
    *("--lanes", "linear", "--no-size-control", "--step-limit", "5", "--reconvergence", "maximal"),
    *("--progress", "fair", "--lower-legacy", "--robustness", "on", "--workgroup-zeros", "off"),
]
"""All options that a printed command repeats, except --in, in the order of printed commands."""


def test_every_command_has_its_options() -> None:
    assert OPTIONS.keys() == COMMANDS.keys()


def test_a_printed_command_gives_the_same_options_again() -> None:
    options = OPTIONS["check"].options
    chosen = parse(["check", "a.comp", *reversed_options(REPEATED)])
    assert words_of(options, chosen) == REPEATED
    printed = {option.key for option in options if option.printed}
    assert printed - {"inputs"} == {option.key for option in changed(options, chosen)} - {"shader"}


def reversed_options(words: list[str]) -> list[str]:
    """Return options with their values in the opposite order; the values of one option keep their order."""
    options: list[list[str]] = []
    for word in words:
        if word.startswith("-"):
            options.append([])
        options[-1].append(word)
    names = [option[0] for option in options]
    options.sort(key=lambda option: names.index(option[0]), reverse=True)
    return [word for option in options for word in option]


def test_an_option_is_given_even_with_its_default() -> None:
    chosen = parse(["check", "a.comp", "--seed", "0", "--groups", "1"])
    assert {"seed", "groups"} <= chosen.given
    assert not {"timeout", "size_control", "defines"} & chosen.given
    options = OPTIONS["check"].options
    assert words_of(options, chosen) == ["--groups", "1"]
    assert words_of(options, chosen, with_defaults=True) == ["--groups", "1", "--seed", "0"]


@pytest.mark.parametrize("separator", [",", "x", ", "])
def test_numbers_by_dimension_have_commas_or_crosses_between(separator: str) -> None:
    text = separator.join("423")
    chosen = parse(["check", "a.comp", "--groups", text, "--local-size", text])
    assert chosen.groups == chosen.local_size == (4, 2, 3)
    assert parse(["run", "a.frag", "--size", separator.join("42")]).size == (4, 2)
    for wrong in ("4x", "4x4x4x4", "0x1", "x"):
        with pytest.raises(SystemExit):
            parse(["check", "a.comp", "--groups", wrong])


def test_lists_of_defaults_are_not_shared() -> None:
    first, second = (parse(["check", "a.comp"]) for _ in range(2))
    first.defines.append("A=1")
    assert second.defines == []


def test_a_device_of_the_environment_is_read_at_each_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("lavapipe", "swiftshader"):
        monkeypatch.setenv("VKGROUP_DEVICE", name)
        assert parse(["probe"]).device == name


def test_options_of_actions_have_defaults() -> None:
    assert parse(["drivers", "list"]).json is None
    assert parse(["drivers", "fetch", "lavapipe"]).offline is None
    assert parse(["history"]).action is None
    assert parse(["compilers", "fetch"]).names == []
    assert parse(["compilers", "fetch", "tint"]).names == ["tint"]
    with pytest.raises(SystemExit):
        parse(["compilers", "fetch", "dxc"])


@pytest.mark.parametrize("command", ["run", "check", "cost"])
def test_values_of_configurations_have_options_of_the_same_meaning(command: str) -> None:
    """The page of configurations names the option of each field."""
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \| .* \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    documented = {
        name: re.findall(r"`(-[-\w]*)`", option) or [f"--{name.replace('_', '-')}"]
        for names, option in rows
        for name in re.findall(r"`([a-z_]+)`", names)
        if option
    }
    declared = {option.field: option.names for option in OPTIONS[command].options if option.field}
    assert declared.keys() <= set(FIELDS)
    assert {name: names for name, names in declared.items() if name != "shader"} == {
        name: documented[name][0] for name in declared if name != "shader"
    }
    if command == "check":
        assert declared.keys() == documented.keys()


def test_a_request_has_the_parameters_of_check() -> None:
    assert list(inspect.signature(check).parameters) == [field.name for field in fields(CheckRequest)]
