"""Scripted transactions: sequences as data, run anywhere, with the money in double entry.

sequence = wb.sequences.load("refund.toml")
run = wb.run(sequence, api, amount=2500)
run.ok, run.verdict, run.ledger()
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.sequences.audit import problems
    from workbench.sequences.chance import Mix, traffic
    from workbench.sequences.journaled import from_journal
    from workbench.sequences.kept import run_kept
    from workbench.sequences.ledger import Entry, Ledger, Unbalanced
    from workbench.sequences.lessons import CATALOGUE as catalogue  # noqa: N811 - read as a mapping of names
    from workbench.sequences.many import Runs, run_many
    from workbench.sequences.play import Done
    from workbench.sequences.running import Run, Stage, run, run_async
    from workbench.sequences.steps import (
        EventWanted,
        Expect,
        InvalidSequence,
        Parameter,
        Sequence,
        Step,
        guide,
        param,
        ref,
        step,
    )
    from workbench.sequences.toml_form import dumps, load, loads

_HOMES: Mapping[str, str] = {
    "Done": "play", "Entry": "ledger", "EventWanted": "steps", "Expect": "steps", "InvalidSequence": "steps",
    "Ledger": "ledger", "Mix": "chance", "Parameter": "steps", "Run": "running", "Runs": "many", "Sequence": "steps",
    "Stage": "running", "Step": "steps", "Unbalanced": "ledger", "catalogue": "lessons", "dumps": "toml_form",
    "from_journal": "journaled", "guide": "steps", "load": "toml_form", "loads": "toml_form", "param": "steps",
    "problems": "audit", "ref": "steps", "run": "running", "run_async": "running", "run_kept": "kept", "run_many": "many", "step": "steps",
    "traffic": "chance",
}  # fmt: skip

__all__ = [
    "Done", "Entry", "EventWanted", "Expect", "InvalidSequence", "Ledger", "Mix", "Parameter", "Run", "Runs", "Sequence",
    "Stage", "Step", "Unbalanced", "catalogue", "dumps", "from_journal", "guide", "load", "loads", "param", "problems",
    "ref", "run", "run_async", "run_kept", "run_many", "step", "traffic",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{home}")
    value = getattr(module, "CATALOGUE" if name == "catalogue" else name)
    globals()[name] = value
    return value
