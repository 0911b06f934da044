"""Scripted transactions: sequences as data, run anywhere, with the money in double entry.

sequence = wb.sequences.load("refund.toml")
run = wb.sequences.run(sequence, api, amount=2500)
run.ok, run.verdict, run.ledger()
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.forms.work import sequence_panel as panel
    from workbench.sequences.comparing import Evidence as Evidence
    from workbench.sequences.comparing import evidence as evidence
    from workbench.sequences.exports import export as export
    from workbench.sequences.generated import Mix as Mix
    from workbench.sequences.generated import from_journal as from_journal
    from workbench.sequences.generated import traffic as traffic
    from workbench.sequences.ledger import Entry as Entry
    from workbench.sequences.ledger import Ledger as Ledger
    from workbench.sequences.ledger import Unbalanced as Unbalanced
    from workbench.sequences.player import StepResult as StepResult
    from workbench.sequences.reading import catalogue as catalogue
    from workbench.sequences.reading import load as load
    from workbench.sequences.reading import loads as loads
    from workbench.sequences.reading import problems as problems
    from workbench.sequences.results import Run as Run
    from workbench.sequences.results import Runs as Runs
    from workbench.sequences.running import Stepper as Stepper
    from workbench.sequences.running import run as run
    from workbench.sequences.running import run_async as run_async
    from workbench.sequences.running import run_many as run_many
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

    __all__ = ["panel"]  # which has another name where it is

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
