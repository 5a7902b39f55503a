"""The options of each command; help and completion import only these modules.

These modules must not import slow packages (NumPy, rich, Vulkan, the tools); this is checked in
`tests/cli/test_cli_imports.py`.
"""

from vkgroup.cli.options import check, devices, runs, shaders

OPTIONS = {**devices.COMMANDS, **runs.COMMANDS, **shaders.COMMANDS, **check.COMMANDS}
"""The options of a command by its name."""
