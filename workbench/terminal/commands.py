"""Table of commands, and the first page of help. To keep start-up fast, no command is imported here."""

import sys
import textwrap
from pathlib import Path

from workbench.service.interface.naming import command_of
from workbench.service.interface.table import OPERATIONS as TABLE

OPERATIONS: dict[tuple[str, ...], str] = {command_of(row): name for name, row in TABLE.items()}
"""The operations by noun and verb."""


def _operations() -> dict[str, dict[str, str]]:
    """Return the function of each command by noun and verb, for the nouns of the operations."""
    nouns: dict[str, dict[str, str]] = {}
    for (noun, verb), name in OPERATIONS.items():
        nouns.setdefault(noun, {})[verb] = f"operations:{name}"
    nouns["rewards"]["read"] = "bulk:rewards"
    for name in ("plan", "verify", "typed_data", "transaction", "explain"):
        nouns["withdrawals"][kebab(name)] = f"withdrawals:{name}"
    return nouns


def kebab(name: str) -> str:
    """Return a name in kebab-case, as used on the command line."""
    return name.replace("_", "-")


COMMANDS: dict[str, dict[str, str]] = {
    **_operations(),
    "bulk": {"run": "bulk:run", "resume": "bulk:resume"},
    "sandbox": {
        "serve": "sandbox:serve",
        "reset": "sandbox:reset",
        "shell": "shell:shell",
        "agent": "shell:agent",
        "advance": "sandbox:advance",
    },
    "corpus": {"add": "learning:add", "check": "learning:check", "learn": "learning:learn"},
    "events": {
        "list": "events:list_events",
        "resend": "events:resend",
        "listen": "events:listen",
        "trigger": "events:trigger",
    },
    "test": {"explore": "testing:explore", "http": "testing:http"},
    "sequences": {
        "list": "sequences:list_sequences",
        "show": "sequences:show_sequence",
        "check": "sequences:check",
        "run": "sequences:run",
    },
    "course": {
        "lab": "shell:lab",
        "tasks": "training:list_tasks",
        **{name: f"training:{name}" for name in ("start", "check", "answer", "hint")},
        **{name: f"training:{name}" for name in ("serve", "join", "leave", "board", "results", "add", "prepare")},
        "print": "training:print_",
    },
    "report": {"close": "shell:close", "dashboard": "shell:dashboard"},
    "journal": {
        "list": "journal:list_calls",
        "unknown": "journal:list_unknown",
        "resolve": "journal:resolve",
        "health": "journal:health",
    },
    "profiles": {
        "list": "journal:list_profiles",
        "check": "journal:check",
        "arm": "journal:arm",
        "config": "about:config",
    },
    "docs": {
        "": "about:docs",
        "assumptions": "about:list_assumptions",
        "skeleton": "about:skeleton",
        "completion": "application:completion",
        "agent": "about:agent",
    },
}
"""Module and function of each command by noun and verb. The empty verb belongs to the noun alone. The sandbox's
controls are added when the noun `sandbox` is used."""


def _help_line(noun: str) -> str:
    """Return the help line of a noun: its verbs, or the help line of its only operation."""
    verbs = COMMANDS[noun]
    only = {of: TABLE[name].doc for (of, _), name in OPERATIONS.items()}
    return f"{', '.join(verbs).capitalize()}." if verbs.keys() - {""} and len(verbs) > 1 else only[noun]


SECTIONS: dict[str, dict[str, str]] = {
    "Operations": {noun: _help_line(noun) for noun in dict.fromkeys(noun for noun, _ in OPERATIONS)},
    "Many calls": {"bulk": "Send one request for each row of a file, at most once each."},
    "Sandbox": {
        "sandbox": "Serve, reset and control the sandbox: settle, review, advance and more; open a shell.",
        "corpus": "Store recorded traffic without its values; replay it; learn a behavior file from it.",
    },
    "Events": {"events": "List, receive and send events."},
    "Tests": {"test": "Test your application in simulated runs, also behind HTTP."},
    "Sequences": {"sequences": "List, show, check and run sequences of calls."},
    "Training": {"course": "Open the course, solve its tasks; serve or join a class, and export its results."},
    "Reports": {"report": "Close a month, or write a dashboard, into files."},
    "Journal and profiles": {
        "journal": "List calls with an effect, and resolve unknown outcomes.",
        "profiles": "List, show, check and arm connection profiles; check this installation; show variables.",
    },
    "Help": {
        "docs": "Print the rules of an operation or a kind of event, example bodies, assumptions, a completion script, "
        "or a guide for coding agents.",
    },
}
"""Commands by section, with their help line."""

HELP = {noun: line for lines in SECTIONS.values() for noun, line in lines.items()}

_LAST = """\
`workbench COMMAND --help` shows what a command takes, and `workbench --version` the version.

Commands act on your own sandbox, stored in a file, so each command sees the effects of earlier ones. Use --fresh for a
new sandbox in memory, --url URL for a served one and --profile NAME for a real service.

Exit codes: 0 done, 2 wrong input, 3 refused, 4 outcome unknown, 5 partly done, 6 not sent."""


def first_page() -> str:
    """Return the first page of help at terminal width, in ASCII."""
    import shutil  # imported late, since only this page needs it

    width = max(40, min(140, shutil.get_terminal_size((100, 24)).columns)) if sys.stdout.isatty() else 100
    parts = ["Usage: workbench COMMAND\n\nA workbench for a card issuing API."]
    for section, rows in SECTIONS.items():
        lines = [textwrap.fill(f"  {name:<18}{doc}", width, subsequent_indent=" " * 20) for name, doc in rows.items()]
        parts.append("\n".join([section, *lines]))
    return "\n\n".join([*parts, *(textwrap.fill(text, width) for text in _LAST.split("\n\n"))])


def example_of(arguments: list[str]) -> str:
    """Return an example of the command with which `arguments` start. Its ids exist in a new sandbox."""
    command = " ".join(["workbench", *arguments[:2]])
    lines = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8").splitlines()
    return next((line for line in lines if f"{line} ".startswith(f"{command} ")), command)
