"""The options of ``vkgroup completion``."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Print a script with which a shell completes commands, options and their values. The script contains"
        " all of them and does not start vkgroup."
    )
    parser.epilog = (
        "bash: vkgroup completion bash > ~/.local/share/bash-completion/completions/vkgroup. "
        "zsh: vkgroup completion zsh > DIR/_vkgroup, where DIR is in $fpath. "
        "fish: vkgroup completion fish > ~/.config/fish/completions/vkgroup.fish."
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"{', '.join(SHELLS)}")
