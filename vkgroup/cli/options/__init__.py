"""The options of each command, apart from what executes it: help and completion need no more than these.

Nothing here may import what takes long (NumPy, rich, Vulkan, the tools); `tests/cli/test_cli_imports.py`
checks this.
"""
