"""Sequences: scripted transactions as data, run on any sandbox, with a double-entry ledger.

sequence = wb.sequences.read_toml("refund.toml")
run = wb.sequences.run(api, sequence, amount=2500)
run.ok, run.verdict, run.ledger()
"""

from typing import TYPE_CHECKING

from workbench.lazy import public_names

if TYPE_CHECKING:
    from workbench.sequences.reading import catalogue as catalogue
    from workbench.sequences.reading import from_toml as from_toml
    from workbench.sequences.reading import read_toml as read_toml
    from workbench.sequences.running import Stepper as Stepper
    from workbench.sequences.running import run as run
    from workbench.sequences.running import run_many as run_many
    from workbench.sequences.sequence import InvalidSequence as InvalidSequence
    from workbench.sequences.sequence import Sequence as Sequence
    from workbench.sequences.sequence import param as param
    from workbench.sequences.sequence import ref as ref
    from workbench.sequences.sequence import step as step

_NAMES = {
    "InvalidSequence": "workbench.sequences.sequence",
    "Sequence": "workbench.sequences.sequence",
    "Stepper": "workbench.sequences.running",
    "catalogue": "workbench.sequences.reading",
    "read_toml": "workbench.sequences.reading",
    "from_toml": "workbench.sequences.reading",
    "param": "workbench.sequences.sequence",
    "ref": "workbench.sequences.sequence",
    "run": "workbench.sequences.running",
    "run_many": "workbench.sequences.running",
    "step": "workbench.sequences.sequence",
}

if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept any name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
