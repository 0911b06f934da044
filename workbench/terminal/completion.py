"""Completion for bash and zsh: commands, options, choices, and ids where a sandbox of this user is at hand."""

import inspect
import sys
from collections.abc import Iterable
from contextlib import closing
from typing import Annotated, Any, Literal, get_args

from cyclopts import Parameter

from workbench.interface.operation import Operation
from workbench.interface.table import OPERATIONS
from workbench.interface.walk import Boolean, Choice, Member
from workbench.terminal.commands import below, find, known_below
from workbench.terminal.ends import DONE

_SHELLS = {
    "bash": """_workbench() {
  local IFS=$'\\n'
  COMPREPLY=($(workbench __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _workbench workbench
""",
    "zsh": """#compdef workbench
_workbench() {
  local -a found
  found=("${(@f)$(workbench __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -a found
}
compdef _workbench workbench
""",
}

_BRANCHES = {
    "card_id": ("cards",), "user_id": ("users",), "user_or_owner_id": ("users", "companies"), "company_id": ("companies",),
    "ubo_id": ("companies",), "dispute_id": ("disputes",), "payment_account_id": ("payment_accounts",),
    "payment_route_id": ("payment_routes",), "collateral_contract_id": ("contracts",), "contract_id": ("contracts",),
}  # fmt: skip
"""Where the sandbox's guide has ids for an option of a name."""


def script(shell: Annotated[Literal["bash", "zsh"], Parameter(help="Which shell.")], /) -> int:
    """Print the completion script of a shell: eval "$(workbench completion bash)"."""
    print(_SHELLS[shell], end="")
    return DONE


def complete(words: list[str]) -> int:
    """Print what the last word may become, one a line."""
    *before, part = words or [""]
    for one in sorted(set(_candidates(before, part))):
        if one.startswith(part):
            print(one)
    sys.stdout.flush()
    return DONE


def _candidates(before: list[str], part: str) -> Iterable[str]:
    command, rest, _ = find(before)
    if command is None:
        return _words(tuple(word.replace("-", "_") for word in before))
    deep = len(command.path)
    more = [one.path[deep] for one in below(command.path) if len(one.path) > deep] if not rest else []
    parameters = _parameters(command.make())
    last = rest[-1] if rest else ""
    if last.startswith("--") and last in parameters and not part.startswith("-"):
        return _values(command.path, last, parameters[last])
    if part.startswith("-"):
        return [*parameters, "--help"]
    return [*more, *_ids(_first_id(command.path)), *(() if more else parameters)]


def _words(before: tuple[str, ...]) -> list[str]:
    known = known_below(before)
    return [path[len(before)] for path in known if len(path) > len(before) and path[: len(before)] == before]


def _parameters(function: Any) -> dict[str, Any]:
    """Return the options of a command by their name, with what they are annotated with; groups of options opened."""
    made: dict[str, Any] = {}
    for one in inspect.signature(function).parameters.values():
        kind, *marks = get_args(one.annotation) or (one.annotation,)
        named = next((mark.name for mark in marks if isinstance(mark, Parameter) and mark.name), ())
        if "*" in named:
            cls = next((option for option in (kind, *get_args(kind)) if hasattr(option, "__dataclass_fields__")), None)
            for field in getattr(cls, "__dataclass_fields__", {}).values():
                made[f"--{field.name}"] = field.type
            continue
        made[next((name for name in named if name.startswith("--")), f"--{one.name.replace('_', '-')}")] = (
            one.annotation
        )
    return made


def _values(path: tuple[str, ...], option: str, annotation: Any) -> Iterable[str]:
    name = option.removeprefix("--").replace("-", "_")
    operation = OPERATIONS.get(path[0])
    if operation is not None:
        one = _member(operation, name)
        if one is not None and isinstance(one.kind, Choice):
            return list(one.kind.of)
        if one is not None and isinstance(one.kind, Boolean):
            return ["true", "false"]
    choices = [text for kind in _unfolded(annotation) for text in get_args(kind) if isinstance(text, str)]
    if choices:
        return choices
    if name == "profile":
        from workbench.client.settings import profile_names

        return profile_names()
    return _ids(name)


def _unfolded(annotation: Any) -> list[Any]:
    inner = [one for one in get_args(annotation) if not isinstance(one, str)]
    return [annotation, *(deeper for one in inner for deeper in _unfolded(one))]


def _member(operation: Operation[..., Any], name: str) -> Member | None:
    from workbench.terminal.arguments import option_members

    return dict(option_members(operation.request)).get(name)


def _first_id(path: tuple[str, ...]) -> str:
    """Return the name of what a command takes first."""
    if path[0] in OPERATIONS:
        from workbench.interface.convert import placeholders
        from workbench.interface.walk import snake

        return next((snake(name) for name in placeholders(OPERATIONS[path[0]].path)), "")
    if path[0] == "docs":
        return "operation"
    if path[0] == "rewards":
        return "user_id"
    if path[0] == "sandbox" and len(path) > 1:
        from workbench.sandbox.controls import CONTROLS

        taken = (
            [name for name in CONTROLS[path[1]].signature.parameters if name != "self"] if path[1] in CONTROLS else []
        )
        return taken[0] if taken else ""
    return ""


def _ids(name: str) -> list[str]:
    """Return ids for an option, from the sandbox of this user; none where there is no such sandbox yet."""
    if name == "operation":
        return list(OPERATIONS)
    from workbench.terminal.keeping import kept_path, kept_sandbox

    if name not in (*_BRANCHES, "transaction_id") or not kept_path().exists():
        return []
    with closing(kept_sandbox()) as sandbox:
        return ids_of(name, sandbox)


def ids_of(name: str, sandbox: Any) -> list[str]:
    """Return the ids that a sandbox knows for an argument of a name."""
    if name == "transaction_id":
        events = [one["event"] for one in sandbox.events("transaction.created")]
        return [str(event["body"]["id"]) for event in events[-50:]]
    if name not in _BRANCHES:
        return []
    guide = sandbox.guide()
    return [text for branch in _BRANCHES[name] for text in _texts(guide[branch])]


def _texts(x: Any) -> list[str]:
    if isinstance(x, dict):
        return [text for key, value in x.items() if key == "id" or not isinstance(value, str) for text in _texts(value)]
    return [text for one in x for text in _texts(one)] if isinstance(x, list) else [x] if isinstance(x, str) else []
