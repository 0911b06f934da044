"""The operation table and the records as data: complete, unique, and with a reason for each assumption."""

import inspect
import pydoc
from typing import Any, get_args

import pytest

import workbench as wb
from tests.each import each
from workbench import errors
from workbench.base.schema.fields import Answer, Confidence
from workbench.base.schema.walk import Choice, cross_rules, described, is_record, leaves, members, records
from workbench.sandbox.extensions import ROWS as SANDBOX_ROWS
from workbench.sandbox.faults import OF_ANSWERS, OF_DELIVERIES, FaultKind, FaultTarget
from workbench.service.interface import table
from workbench.service.interface.assumptions import BEHAVIORS, assumptions, settings
from workbench.service.interface.convert import placeholders
from workbench.service.interface.events import EVENT_KINDS, CardKind, DepositKind, Event, TransactionKind, UserKind

ROWS = list(table.OPERATIONS.values())
RECORDS = list(
    dict.fromkeys(
        record
        for top in (
            *(cls for row in ROWS for cls in (row.request, row.answer)),
            *(k.body for k in EVENT_KINDS.values()),
        )
        for record in records(top)
    )
)


def test_names_and_paths_are_unique() -> None:
    """Names are unique, and so are methods with paths."""
    assert len(ROWS) == len({row.name for row in ROWS}) == len({(row.method, row.path) for row in ROWS})


@each("row", ROWS, ids=lambda row: row.name)
def test_placeholders_are_fields(row: Any) -> None:
    """Every placeholder of a path is a required UUID member, except a dispute's id, whose format is undocumented."""
    by_wire = {one.wire: one for one in members(row.request)}

    for name in placeholders(row.path):
        assert by_wire[name].required
        rule = by_wire[name].about.rule
        assert rule.format == "uuid" or (row.name, name, rule.min_length) == ("update_dispute", "disputeId", 1)


@each("row", ROWS, ids=lambda row: row.name)
def test_rows_are_complete(row: Any) -> None:
    """A row has a description, a source and records, and its help names every argument and failure."""
    assert row.doc.endswith(".")
    assert row.source.startswith("Endpoints ")
    assert is_record(row.request)
    assert issubclass(row.answer, Answer)
    assert not issubclass(row.request, Answer)
    for _, one in ((one.name, one) for one in members(row.request)):
        assert f"    {one.name}: " in row.help
    for failure in row.failures:
        assert f"    {errors.STATUSES[failure.status].__name__}: {failure.status} {failure.error}" in row.help


def joined(text: str) -> str:
    """Return a text without white space, because since Python 3.13 help splits a long signature over several lines."""
    return "".join(text.split())


@each("row", ROWS, ids=lambda row: row.name)
def test_help_shows_the_method_on_class_and_object(row: Any) -> None:
    """On class and object, tools see a routine with name, signature and documentation."""
    with wb.Client(base_url="http://127.0.0.1:9", api_key="key") as client:
        bound, unbound = getattr(client, row.name), getattr(wb.Client, row.name)
        arguments = list(inspect.signature(row.request).parameters)

        assert list(inspect.signature(bound).parameters) == arguments
        assert list(inspect.signature(unbound).parameters) == ["self", *arguments]
        for method in (bound, unbound):
            text = pydoc.render_doc(method, renderer=pydoc.plaintext)
            assert joined(f"\n{row.name}{inspect.signature(method)}\n    {row.doc}") in joined(text)
            assert inspect.getdoc(method) == row.help
            assert method.__name__ == method.__qualname__.rpartition(".")[2] == row.name


def test_a_method_of_the_class_takes_the_client() -> None:
    """An operation of the class takes the client as its first argument, as any method does."""
    api = wb.connect(seed=1)

    assert wb.Client.list_contracts(api) == api.list_contracts()
    described = inspect.getdoc(type(wb.Client.list_contracts)) or ""
    assert described.startswith("One operation of the interface: ")


def test_what_help_says_can_be_raised_can_be_caught() -> None:
    """The names under "Raises" are classes of `wb.errors`."""
    for row in ROWS:
        for line in row.help.partition("Raises:\n")[2].partition("\n\n")[0].splitlines():
            assert issubclass(getattr(wb.errors, line.strip().partition(":")[0]), wb.WorkbenchError)


@each("record", RECORDS, ids=lambda record: record.__name__)
def test_every_field_is_described(record: type[Any]) -> None:
    """Every field has a description, and every assumption a reason and a confidence."""
    assert "Source: " in (record.__doc__ or "") or "Assumed" in (record.__doc__ or "")
    for one in members(record):
        assert one.about.doc.strip()
        assert described(one).endswith(".")
        assert one.about.assumed is None or one.about.assumed.confidence in Confidence
    for rule in cross_rules(record):
        assert rule.doc


@each("record", RECORDS, ids=lambda record: record.__name__)
def test_wire_names_are_unique(record: type[Any]) -> None:
    """No two members of a record share a wire name."""
    wires = [one.wire for one in members(record)]

    assert len(wires) == len(set(wires))


def test_leaves_reach_nested_members() -> None:
    """`leaves` yields nested members with dotted paths."""
    assert "tokens.exchange_rate" in dict(leaves(table.Operations.list_contracts.answer))
    assert "onramp.ach.account_number" in dict(leaves(table.Operations.list_contracts.answer))


def test_assumptions_are_unique_and_complete() -> None:
    """Every assumption has a unique id, a place, a value, a reason and a way to change it."""
    found = assumptions()

    assert len(found) == len({one.id for one in found})
    for one in found:
        assert all((one.id, one.where, one.value, one.reason, one.change)), one


def test_every_assumed_mark_is_listed() -> None:
    """The list contains every assumption that is marked in the declarations."""
    listed = {one.reason for one in assumptions()}
    marked = {one.about.assumed for record in RECORDS for one in members(record)}
    marked |= {failure.assumed for row in ROWS for failure in row.failures}
    marked |= {row.assumed for row in ROWS} | {rule.assumed for record in RECORDS for rule in cross_rules(record)}
    marked |= {row.reason for row in BEHAVIORS.values()}

    assert set() == marked - {None} - listed


def test_profiles_differ_where_live_answers_do() -> None:
    """Both behaviors have the same settings, and `observed` has the values of live answers."""
    documented, observed = settings("documented"), settings("observed")

    assert documented.keys() == observed.keys()
    assert {name: (documented[name], observed[name]) for name in documented if documented[name] != observed[name]} == {
        "full_reversal_status": ("authorized", "settled"),
        "full_reversal_reason": (None, "authorization_reversal"),
        "completion_reason_case": ("upper", "lower"),
        "account_error_text": (False, True),
        "refund_amount_omitted": ("full", "400"),
        "full_reversal_completed": (False, True),
        "event_completion_reason": (False, True),
        "event_statuses_shown": ("mapped", "raw"),
        "withdrawal_other_while_active": ("new", "409"),
        "withdrawal_lifetime": (600, 300),
        "withdrawal_scope": ("tenant", "contract"),
        "empty_body": ("object", "400"),
        "user_terms_shown": (False, True),
        "settle_bounds": ("400", "posted"),
        "stellar_contracts": (False, True),
        "bearer_keys": (False, True),
        "idempotency_keys": (False, True),
        "rate_limit": (None, 1_000_000),
        "merchant_padding": (False, True),
    }


def test_a_record_without_about_is_refused() -> None:
    """A field of a record requires `about`."""
    import attrs

    from workbench.base.schema.fields import record

    @record
    class Silent:
        """A record whose field has no description."""

        name: str = attrs.field()

    with pytest.raises(TypeError, match=r"Silent\.name is not declared by about"):
        members(Silent)


def test_answers_and_events_are_exported_from_one_place() -> None:
    """`workbench.records` exports every answer, event body and status enum, for annotations."""
    answers = [row.answer for row in table.OPERATIONS.values() if members(row.answer)]
    exported = [*answers, Event, *(kind.body for kind in EVENT_KINDS.values())]
    choices = {one.kind.of for record in exported for one in members(record) if isinstance(one.kind, Choice)}
    statuses = {cls for cls in choices if cls.__name__.endswith("Status")}

    assert {cls.__name__ for cls in (*exported, *statuses)} <= set(dir(wb.records))


def test_the_names_for_type_checkers_are_those_of_the_tables() -> None:
    """The literals of operations, event kinds and faults equal the tables."""
    kinds = {*get_args(UserKind), *get_args(DepositKind), *get_args(TransactionKind), *get_args(CardKind)}

    assert get_args(table.OperationName) == tuple(table.OPERATIONS)
    assert kinds == set(EVENT_KINDS)
    assert get_args(FaultKind) == (*OF_ANSWERS, *OF_DELIVERIES)
    assert set(get_args(FaultTarget)) == {*table.OPERATIONS, *SANDBOX_ROWS, *EVENT_KINDS}
