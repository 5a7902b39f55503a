"""``vkgroup equal``: compare two compute shaders, or one at two subgroup sizes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.text import Text

from vkgroup.base import phases
from vkgroup.base.errors import InvalidInput
from vkgroup.check import CheckRequest
from vkgroup.check.equality import Equality, compare_shaders
from vkgroup.check.report_text import finding_lines
from vkgroup.cli import deadline, output, pairs
from vkgroup.cli.check_request import load, shader_request
from vkgroup.cli.console import Console
from vkgroup.cli.progress import working
from vkgroup.cli.settings import Settings, settings_of

_NO_VERDICT = 3


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    output.require_writable(arguments.json)
    settings = settings_of(arguments)
    if len(settings) > 1:
        raise InvalidInput("equal: one configuration at a time; choose it with --configuration NAME.")
    console = Console(file=output.people(arguments.json), highlight=False)
    with deadline.within(settings[0].options.timeout), working():
        first = replace(shader_request(settings[0]), sizes=arguments.sizes)
        second = None
        if arguments.other is not None:
            options = argparse.Namespace(**{**vars(settings[0].options), "shader": arguments.other})
            second = CheckRequest(
                load(Settings(options)), entry_point=options.entry_point, name=str(arguments.other)
            )
        result = compare_shaders(
            first,
            second,
            _sizes(arguments.sizes, first, second is None),
            [pairs.key(name) for name in arguments.unordered],
        )
    phases.allow_writing()
    for line in _lines(result):
        console.write(line)
    output.write_json(result.to_json(), arguments.json)
    if result.no_verdict:
        return _NO_VERDICT
    return 2 if result.interface else 1 if result.difference is not None else 0


def _sizes(given: Sequence[int] | None, first: CheckRequest, alone: bool) -> list[tuple[int, int]]:
    """Return the pairs of sizes: two given ones are those of the two shaders; one shader needs two."""
    if alone:
        sizes = list(given or first.run_sizes)
        if len(sizes) < 2:
            raise InvalidInput("One shader is compared with itself at two sizes: give --sizes 64,32.")
        return [(sizes[0], size) for size in sizes[1:]]
    if given is not None and len(given) == 2:
        return [(given[0], given[1])]
    return [(size, size) for size in given or first.run_sizes]


def _lines(result: Equality) -> Iterator[Text]:
    """Yield the lines of a result."""
    first, second = result.names
    at = ", ".join(str(one) if one == two else f"{one} and {two}" for one, two in result.sizes)
    what = f"{first} and {second}" if first != second else first
    if result.interface:
        yield Text(f"{what}: other bindings or push constants, so they were not run", style="bold red")
        for problem in result.interface:
            yield Text(f"  {problem}")
        return
    if result.difference is not None:
        yield from finding_lines(result.difference, with_help=False)
        yield Text()
        yield Text(f"{what}: different", style="bold red")
    elif result.no_verdict:
        yield Text(f"{what}: no verdict: {result.no_verdict}", style="bold yellow")
    else:
        yield Text(f"{what}: equal", style="bold green")
    yield Text(f"  ran at size {at}")
    counts = [
        f"{result.counts.get('compared', 0)} numbers of the outputs compared",
        *(f"{result.counts[key]} {text}" for key, text in _COUNTS.items() if result.counts.get(key)),
    ]
    yield Text(f"  {', '.join(counts)}")
    missing = (result.not_executed, result.not_executed_in_second)
    wheres = [f" in {name}" for name in result.names]
    if first == second:
        wheres = [" in the first", " in the second"] if missing[1] else ["", ""]
    for where, lines in zip(wheres, missing, strict=True):
        if lines:
            yield Text(f"  not executed{where}: {', '.join(lines)}", style="yellow")
    if result.groups:
        yield Text(f"  {' and '.join(map(str, result.groups))} workgroups")
    for origin in result.inputs:
        yield Text(f"  {origin}")


_COUNTS = {
    "rounded": "of them equal within rounding",
    "ordered": "not compared because they depend on the order of atomics",
    "undefined": "not compared because they are undefined",
    "undefined in one": "of these in one shader only",
}
