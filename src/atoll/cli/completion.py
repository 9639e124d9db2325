"""``atoll completion``: completes commands and options in a shell.

Prints a script for bash, zsh or fish. In ~/.bashrc or ~/.zshrc: eval "$(atoll completion bash)", with the name of the
shell; in ~/.config/fish/config.fish: atoll completion fish | source
"""

from __future__ import annotations

import argparse
import importlib

SHELLS = ("bash", "zsh", "fish")
BASH = """\
_atoll() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands} --help --version"
    else
        case "$word" in -*) case "${{COMP_WORDS[1]}}" in
{cases}
        esac ;; esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _atoll atoll"""
ZSH = "autoload -U +X compinit bashcompinit && compinit && bashcompinit\n"


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options and arguments of ``atoll completion`` to a parser."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that is to complete")


def main(asked: argparse.Namespace) -> int:
    """Print the script; return the exit code."""
    from . import COMMANDS

    known = {name: _options_of(name) for name in COMMANDS}
    if asked.shell == "fish":
        lines = ["complete -c atoll -n __fish_use_subcommand -s h -l help"]
        for name, flags in known.items():
            lines.append(
                f"complete -c atoll -n __fish_use_subcommand -f -a {name} -d '{COMMANDS[name]}'"
            )
            seen = f"complete -c atoll -n '__fish_seen_subcommand_from {name}'"
            lines += [f"{seen} -{_kind(flag)} {flag.lstrip('-')}" for flag in flags]
        print("\n".join(lines))
        return 0
    cases = "\n".join(
        [f'            {name}) words="{" ".join(flags)}" ;;' for name, flags in known.items()]
    )
    print(
        (ZSH if asked.shell == "zsh" else "") + BASH.format(commands=" ".join(known), cases=cases)
    )
    return 0


def _options_of(command: str) -> list[str]:
    """The options of a command."""
    parser = argparse.ArgumentParser()
    importlib.import_module(f"{__package__}.{command.replace('-', '_')}").options(parser)
    return [flag for action in parser._actions for flag in action.option_strings]


def _kind(flag: str) -> str:
    """The option of fish's ``complete`` for an option of this form."""
    if flag.startswith("--"):
        return "l"
    return "s" if len(flag) == 2 else "o"
