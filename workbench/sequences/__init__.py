"""Scripted transactions: sequences as data, run anywhere, with the money in double entry.

sequence = wb.sequences.load("refund.toml")
run = wb.sequences.run(sequence, api, amount=2500)
run.ok, run.verdict, run.ledger()
"""

from typing import TYPE_CHECKING

from workbench.lazy import public_names

if TYPE_CHECKING:
    from workbench.sequences.ledger import Entry as Entry
    from workbench.sequences.ledger import Ledger as Ledger
    from workbench.sequences.ledger import Unbalanced as Unbalanced
    from workbench.sequences.player import StepResult as StepResult
    from workbench.sequences.reading import catalogue as catalogue
    from workbench.sequences.reading import load as load
    from workbench.sequences.reading import loads as loads
    from workbench.sequences.reading import problems as problems
    from workbench.sequences.running import Stepper as Stepper
    from workbench.sequences.running import run as run
    from workbench.sequences.running import run_async as run_async
    from workbench.sequences.running import run_many as run_many
    from workbench.sequences.runs import Run as Run
    from workbench.sequences.runs import Runs as Runs
    from workbench.sequences.sequence import Expect as Expect
    from workbench.sequences.sequence import ExpectedEvent as ExpectedEvent
    from workbench.sequences.sequence import InvalidSequence as InvalidSequence
    from workbench.sequences.sequence import Parameter as Parameter
    from workbench.sequences.sequence import Sequence as Sequence
    from workbench.sequences.sequence import Step as Step
    from workbench.sequences.sequence import dumps as dumps
    from workbench.sequences.sequence import guide as guide
    from workbench.sequences.sequence import param as param
    from workbench.sequences.sequence import ref as ref
    from workbench.sequences.sequence import step as step

_NAMES = {
    "Entry": "workbench.sequences.ledger",
    "Expect": "workbench.sequences.sequence",
    "ExpectedEvent": "workbench.sequences.sequence",
    "InvalidSequence": "workbench.sequences.sequence",
    "Ledger": "workbench.sequences.ledger",
    "Parameter": "workbench.sequences.sequence",
    "Run": "workbench.sequences.runs",
    "Runs": "workbench.sequences.runs",
    "Sequence": "workbench.sequences.sequence",
    "Step": "workbench.sequences.sequence",
    "StepResult": "workbench.sequences.player",
    "Stepper": "workbench.sequences.running",
    "Unbalanced": "workbench.sequences.ledger",
    "catalogue": "workbench.sequences.reading",
    "dumps": "workbench.sequences.sequence",
    "guide": "workbench.sequences.sequence",
    "load": "workbench.sequences.reading",
    "loads": "workbench.sequences.reading",
    "param": "workbench.sequences.sequence",
    "problems": "workbench.sequences.reading",
    "ref": "workbench.sequences.sequence",
    "run": "workbench.sequences.running",
    "run_async": "workbench.sequences.running",
    "run_many": "workbench.sequences.running",
    "step": "workbench.sequences.sequence",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
