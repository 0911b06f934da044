"""Scripted transactions: sequences as data, run anywhere, with the money in double entry.

sequence = wb.sequences.load("refund.toml")
run = wb.sequences.run(sequence, api, amount=2500)
run.ok, run.verdict, run.ledger()
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.forms.sequence_panel import panel as panel
    from workbench.sequences.audit import problems as problems
    from workbench.sequences.chance import Mix as Mix
    from workbench.sequences.chance import traffic as traffic
    from workbench.sequences.journaled import from_journal as from_journal
    from workbench.sequences.kept import run_kept as run_kept
    from workbench.sequences.ledger import Entry as Entry
    from workbench.sequences.ledger import Ledger as Ledger
    from workbench.sequences.ledger import Unbalanced as Unbalanced
    from workbench.sequences.lessons import catalogue as catalogue
    from workbench.sequences.many import Runs as Runs
    from workbench.sequences.many import run_many as run_many
    from workbench.sequences.play import Done as Done
    from workbench.sequences.running import Run as Run
    from workbench.sequences.running import Stage as Stage
    from workbench.sequences.running import run as run
    from workbench.sequences.running import run_async as run_async
    from workbench.sequences.steps import EventWanted as EventWanted
    from workbench.sequences.steps import Expect as Expect
    from workbench.sequences.steps import InvalidSequence as InvalidSequence
    from workbench.sequences.steps import Parameter as Parameter
    from workbench.sequences.steps import Sequence as Sequence
    from workbench.sequences.steps import Step as Step
    from workbench.sequences.steps import guide as guide
    from workbench.sequences.steps import param as param
    from workbench.sequences.steps import ref as ref
    from workbench.sequences.steps import step as step
    from workbench.sequences.toml_form import dumps as dumps
    from workbench.sequences.toml_form import load as load
    from workbench.sequences.toml_form import loads as loads

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
