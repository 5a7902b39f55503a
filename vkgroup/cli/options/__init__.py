"""The options of each command; help and completion import only these modules.

These modules must not import slow packages (NumPy, rich, Vulkan, the tools); this is checked in
`tests/cli/test_cli_imports.py`.
"""

from importlib import import_module

from vkgroup.cli.options.table import Command

_MODULES = {
    "check": "check",
    **dict.fromkeys(("compile", "run", "cost"), "shaders"),
    **dict.fromkeys(("conform", "history", "diff", "report"), "runs"),
    **dict.fromkeys(("devices", "drivers", "compilers", "probe", "worker", "bench", "completion"), "devices"),
}
"""The module that declares the options of a command."""


def command_named(name: str) -> Command:
    """Return the options of a command."""
    command: Command = import_module(f"vkgroup.cli.options.{_MODULES[name]}").COMMANDS[name]
    return command
