"""Sequences: scripted transactions as data, run on any sandbox, with a double-entry ledger.

sequence = wb.sequences.read_toml("refund.toml")
run = wb.sequences.run(api, sequence, amount=2500)
run.ok, run.verdict, run.ledger()
"""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.runs.sequences.purchases import traffic as traffic
    from workbench.runs.sequences.reading import catalogue as catalogue
    from workbench.runs.sequences.reading import from_toml as from_toml
    from workbench.runs.sequences.reading import read_toml as read_toml
    from workbench.runs.sequences.running import Stepper as Stepper
    from workbench.runs.sequences.running import run as run
    from workbench.runs.sequences.running import run_many as run_many
    from workbench.runs.sequences.sequence import InvalidSequence as InvalidSequence
    from workbench.runs.sequences.sequence import Sequence as Sequence
    from workbench.runs.sequences.sequence import param as param
    from workbench.runs.sequences.sequence import ref as ref
    from workbench.runs.sequences.sequence import step as step

_NAMES = {
    "InvalidSequence": "workbench.runs.sequences.sequence",
    "Sequence": "workbench.runs.sequences.sequence",
    "Stepper": "workbench.runs.sequences.running",
    "catalogue": "workbench.runs.sequences.reading",
    "read_toml": "workbench.runs.sequences.reading",
    "from_toml": "workbench.runs.sequences.reading",
    "param": "workbench.runs.sequences.sequence",
    "ref": "workbench.runs.sequences.sequence",
    "run": "workbench.runs.sequences.running",
    "run_many": "workbench.runs.sequences.running",
    "step": "workbench.runs.sequences.sequence",
    "traffic": "workbench.runs.sequences.purchases",
}

if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
