"""Remedies for problems, worded for each interface: Python, terminal, HTTP, form or agent.

An error holds a remedy as a code with parameters, such as `Remedy("again")`. Its text is looked up when it is shown.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, get_args

import attrs

Interface = Literal["python", "terminal", "http", "form", "agent"]
_CURRENT: ContextVar[Interface] = ContextVar("interface", default="python")

WORDINGS: Mapping[str, Mapping[str, str]] = {
    "again": {
        "python": "allowing(again=True) sends it again",
        "terminal": "--again sends it again",
        "form": "tick “again” to send it again",
        "other": "a person has to allow that it is sent again",
    },
    "allow": {
        "python": "allowing({name}=True) sends it",
        "terminal": "--allow {option} sends it",
        "form": "tick it below to send it",
        "other": "a person has to allow it",
    },
    "all_rows": {"python": "wb.to_frame has all", "other": "further ones are not shown"},
    "amount": {
        "python": 'write wb.withdrawals.usd("25.00") for 25 dollars, or wb.withdrawals.native_units(25_000_000) for '
        "native units of the token",
        "terminal": "--amount 25.00 for 25 dollars, or --native-units 25000000 for native units of the token",
        "other": "state the amount in dollars, or in native units of the token",
    },
    "arm": {
        "python": 'Allow it temporarily: arm(operations={{"{operation}"}}, minutes=10, reason="…").',
        "terminal": 'Allow it temporarily: workbench profiles arm {option} --profile NAME --minutes 10 --reason "…".',
        "other": "A person has to arm {operation} for some minutes.",
    },
    "assumption": {
        "python": "assumptions(), {id}",
        "terminal": "workbench docs assumptions {id}",
        "other": "assumption {id}",
    },
    "assumptions": {
        "python": "see assumptions()",
        "terminal": "see workbench docs assumptions",
        "other": "see the list of assumptions",
    },
    "behavior": {
        "python": 'wb.connect(behavior="{behavior}")',
        "terminal": "a profile with behavior {behavior}",
        "other": "behavior {behavior}",
    },
    "embedded": {
        "python": "connect() gives a session on an embedded sandbox.",
        "terminal": "Without --profile and --url, commands act on a sandbox of this machine.",
        "other": "A sandbox has them.",
    },
    "guide": {
        "python": "see sandbox.guide()",
        "terminal": "see workbench sandbox guide",
        "http": "see /_sandbox/guide",
        "other": "see the guide of the sandbox",
    },
    "investigate": {
        "python": "look it up, as with wb.bulk.investigate(api, run), then resume with "
        'resolved={{row: "done"}} or {{row: "not_sent"}}',
        "terminal": "look it up, then resume with --resolved ROW=done or ROW=not_sent",
        "other": "look it up, then resume with the outcome of each row",
    },
    "native_units": {
        "python": "such as native_units(25_000_000)",
        "terminal": "as --native-units 25000000",
        "other": "a whole number",
    },
    "next_call": {
        "python": "Next: typed_data(nonce=…) returns the message for an admin's own wallet to sign, accept(…) checks "
        "the wallet's signature, transaction(…) returns the call that anyone can then send.",
        "terminal": "Next: workbench withdrawals typed-data prints the message for an admin's own wallet to sign, and "
        "workbench withdrawals transaction, with the wallet's signature, the call that anyone can then send.",
        "other": "Next: an admin's own wallet signs the message; then anyone can send the call.",
    },
    "next_parameters": {
        "python": "Next: parameters() returns the arguments of the call, transaction({nonce}) what the admin's own "
        "wallet sends, as far as it is public.",
        "terminal": "Next: workbench withdrawals transaction prints what the admin's own wallet sends, as far as it is "
        "public.",
        "other": "Next: the admin's own wallet sends the call, as far as it is public.",
    },
    "next_owner": {
        "python": "Next: transaction() returns the call, which the contract's owner sends from their own wallet.",
        "terminal": "Next: workbench withdrawals transaction prints the call, which the contract's owner sends from "
        "their own wallet.",
        "other": "Next: the contract's owner sends the call from their own wallet.",
    },
    "parameters": {
        "python": "parameters() gives what this one takes",
        "terminal": "workbench withdrawals transaction gives what this one takes",
        "other": "this one takes parameters",
    },
    "recipient": {
        "python": "to continue anyway, pass the last {count} characters of the recipient: allow=…",
        "terminal": "to continue anyway, pass the last {count} characters of the recipient: --allow …",
        "other": "to continue anyway, a person has to type the last {count} characters of the recipient",
    },
    "resolve": {
        "python": 'api.journal.evidence("{id}") says what the events show. Then say how it ended: '
        'api.journal.resolve("{id}", "done"), or with "not_sent"; or send it again: '
        'api.journal.resend("{id}", request), where request is its arguments as a dict.',
        "terminal": "Then say how it ended: workbench journal resolve {id} done, or not_sent.",
        "other": "Then record in the journal how {id} ended: done, or not sent.",
    },
    "resume": {
        "python": "resume(api, path, rows) sends the rest",
        "terminal": "workbench bulk resume sends the rest",
        "other": "resume the run to send the rest",
    },
    "reveal": {"python": "call reveal() again", "other": "reveal it again"},
    "sign": {
        "python": "sign({typed}) requests a signature that allows this",
        "terminal": "workbench withdrawals sign requests a signature that allows this",
        "other": "signing it requests a signature that allows this",
    },
    "wait": {
        "python": "plan.sign(timeout=60) waits and retries",
        "terminal": "workbench withdrawals sign waits and retries",
        "other": "sign it again later",
    },
    "wallet_file": {
        "python": "json() or save(path) exports it for the wallet.",
        "terminal": "The JSON is for the wallet.",
        "other": "It is for the wallet, as JSON.",
    },
    "wallet_json": {
        "python": "json() exports it for a wallet.",
        "terminal": "--reveal prints it for a wallet.",
        "other": "It is for a wallet, as JSON.",
    },
}
"""Text of each remedy by interface; "other" covers the interfaces not listed."""


@attrs.frozen(init=False)
class Remedy:
    """Remedy for a problem: a code and the parameters of its text."""

    code: str
    parameters: Mapping[str, object] = attrs.field(hash=False)

    def __init__(self, code: str, **parameters: object) -> None:
        self.__attrs_init__(code, parameters)

    def __str__(self) -> str:
        return self.worded(_CURRENT.get())

    def worded(self, interface: Interface) -> str:
        """Return the text for an interface."""
        words = WORDINGS[self.code]
        return words.get(interface, words["other"]).format_map(self.parameters)


def interface() -> Interface:
    """Return the interface that messages are worded for."""
    return _CURRENT.get()


@contextmanager
def worded_for(interface: Interface) -> Iterator[None]:
    """Word remedies for an interface within a `with` block."""
    if interface not in get_args(Interface):
        raise ValueError(interface)
    token = _CURRENT.set(interface)
    try:
        yield
    finally:
        _CURRENT.reset(token)
