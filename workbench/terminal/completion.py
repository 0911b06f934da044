"""Shell completion: cyclopts writes the scripts; ids come from the user's own sandbox, where there is one."""

from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from workbench.interface.walk import Boolean, Choice, Member

_BRANCHES = {
    "card_id": ("cards",), "user_id": ("users",), "user_or_owner_id": ("users", "companies"), "company_id": ("companies",),
    "ubo_id": ("companies",), "dispute_id": ("disputes",), "payment_account_id": ("payment_accounts",),
    "payment_route_id": ("payment_routes",), "collateral_contract_id": ("contracts",), "contract_id": ("contracts",),
}  # fmt: skip
"""Where the sandbox's guide has ids for an argument of a name."""


def kept_path() -> Path:
    """Return the file of the user's own sandbox, which commands share."""
    from workbench.client.keys import state_folder

    return state_folder() / "sandbox.db"


def script(shell: Literal["bash", "fish", "zsh"], /) -> None:
    """Print the completion script of a shell.

    bash: workbench completion bash > ~/.local/share/bash-completion/completions/workbench

    zsh: workbench completion zsh > _workbench, in a folder of $fpath

    fish: workbench completion fish > ~/.config/fish/completions/workbench.fish

    Args:
        shell: The shell.
    """
    print(completion_script(shell), end="")


def completion_script(shell: Literal["bash", "fish", "zsh"]) -> str:
    """Return the completion script of a shell."""
    from workbench.terminal import make_app

    script = make_app().generate_completion(shell=shell)
    # the file of a completion is its body: it has to call what it defines
    return f'{script}\n_cyclopts_workbench "$@"\n' if shell == "zsh" else script


def complete_member(member: Member) -> Callable[[Any], Iterable[str]]:
    """Return a completer of a member's values: its choices, or ids that the user's own sandbox knows."""
    choices: list[str] = [*member.kind.of] if isinstance(member.kind, Choice) else []
    if isinstance(member.kind, Boolean):
        choices = ["true", "false"]
    return (lambda context: choices) if choices else complete_ids(member.name)


def complete_ids(name: str) -> Callable[[Any], Iterable[str]]:
    """Return a completer of ids for an argument of a name."""

    def complete(context: Any) -> Iterable[str]:
        from workbench.sandbox import Sandbox

        if name not in (*_BRANCHES, "transaction_id") or not kept_path().exists():
            return []
        with closing(Sandbox(path=kept_path())) as sandbox:
            typed = context.get("tenant")  # --tenant, where it is typed already
            keys = {one.name: one.keys[0] for one in sandbox.tenants()}
            key = None if typed is None else keys.get(typed.raw or "")
            return ids_of(name, sandbox if key is None else sandbox.for_key(sandbox.guide()["api_keys"][key]))

    return complete


def profiles(context: Any) -> Iterable[str]:
    """Complete the name of a profile."""
    from workbench.client.settings import profile_names

    return profile_names()


def operations(context: Any) -> Iterable[str]:
    """Complete the name of an operation."""
    from workbench.interface.table import OPERATIONS

    return [name.replace("_", "-") for name in OPERATIONS]


def documented(context: Any) -> Iterable[str]:
    """Complete the name of an operation or of a kind of event."""
    from workbench.interface.events import EVENT_KINDS

    return [*operations(context), *EVENT_KINDS]


def ids_of(name: str, sandbox: Any) -> list[str]:
    """Return the ids that a sandbox knows for an argument of a name."""
    if name == "transaction_id":
        return [str(event["event"]["body"]["id"]) for event in sandbox.events("transaction.created")[-50:]]
    guide = sandbox.guide()
    return [text for branch in _BRANCHES.get(name, ()) for text in _texts(guide[branch])]


def _texts(x: Any) -> list[str]:
    if isinstance(x, dict):
        return [text for key, value in x.items() if key == "id" or not isinstance(value, str) for text in _texts(value)]
    return [text for one in x for text in _texts(one)] if isinstance(x, list) else [x] if isinstance(x, str) else []
