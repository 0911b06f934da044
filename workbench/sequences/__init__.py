"""Scripted transactions: sequences as data, run anywhere, with the money in double entry.

sequence = wb.sequences.load("refund.toml")
run = wb.sequences.run(sequence, api, amount=2500)
run.ok, run.verdict, run.ledger()
"""

from typing import TYPE_CHECKING

from workbench.lazy import public_names

if TYPE_CHECKING:
    from workbench.sequences.reading import catalogue as catalogue
    from workbench.sequences.reading import load as load
    from workbench.sequences.reading import loads as loads
    from workbench.sequences.running import Stepper as Stepper
    from workbench.sequences.running import run as run
    from workbench.sequences.running import run_async as run_async
    from workbench.sequences.running import run_many as run_many
    from workbench.sequences.sequence import InvalidSequence as InvalidSequence
    from workbench.sequences.sequence import Sequence as Sequence
    from workbench.sequences.sequence import guide as guide
    from workbench.sequences.sequence import param as param
    from workbench.sequences.sequence import ref as ref
    from workbench.sequences.sequence import step as step

_NAMES = {
    "InvalidSequence": "workbench.sequences.sequence",
    "Sequence": "workbench.sequences.sequence",
    "Stepper": "workbench.sequences.running",
    "catalogue": "workbench.sequences.reading",
    "guide": "workbench.sequences.sequence",
    "load": "workbench.sequences.reading",
    "loads": "workbench.sequences.reading",
    "param": "workbench.sequences.sequence",
    "ref": "workbench.sequences.sequence",
    "run": "workbench.sequences.running",
    "run_async": "workbench.sequences.running",
    "run_many": "workbench.sequences.running",
    "step": "workbench.sequences.sequence",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
