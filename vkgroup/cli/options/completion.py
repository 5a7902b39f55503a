"""The options of ``vkgroup completion``."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Prints a script for a shell, which then completes commands, options and their values. The script has"
        " them all: vkgroup is not started again."
    )
    parser.epilog = (
        "bash: vkgroup completion bash > ~/.local/share/bash-completion/completions/vkgroup. "
        "zsh: vkgroup completion zsh > DIR/_vkgroup, with a DIR of $fpath. "
        "fish: vkgroup completion fish > ~/.config/fish/completions/vkgroup.fish."
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"{', '.join(SHELLS)}")
