"""A wrong argument of a public function raises UsageError or another workbench error."""

import asyncio
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import pandas as pd
import pytest

import workbench as wb
from tests.each import each
from workbench.base.errors import InvalidArguments, UsageError, WorkbenchError
from workbench.service import chains

NAMESPACES = (
    "bulk",
    "charts",
    "course",
    "events",
    "rewards",
    "sequences",
    "withdrawals",
    "testing",
)
BAD = [pytest.param(value, id=name) for name, value in {
    "object": object(), "number": 3, "negative": -1, "float": 2.5, "text": "nope", "none": None, "list": [], "bytes": b"\xff", "mapping": {"nope": 1},
}.items()]  # fmt: skip


def _functions() -> Iterator[Any]:
    """Yield every public function, class methods of sessions, and constructors that people call."""
    for name in dir(wb):
        loaded = getattr(wb, name)
        if isinstance(loaded, FunctionType):
            yield pytest.param(loaded, id=f"wb.{name}")
    for space in NAMESPACES:
        module = getattr(wb, space)
        for name in dir(module):
            with suppress(wb.errors.MissingExtra):
                loaded = getattr(module, name)
                if isinstance(loaded, FunctionType):
                    yield pytest.param(loaded, id=f"wb.{space}.{name}")
    for cls in (wb.Sandbox, wb.Inbox, wb.Journal, wb.Limits, wb.Client):
        yield pytest.param(cls, id=cls.__name__)


FUNCTIONS = [*_functions()]


def ends_well(call: Callable[[], Any]) -> None:
    """Fail if a call raises an error other than a workbench error or an error of opening a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = call()
            if inspect.iscoroutine(result):
                asyncio.run(result)
        except (WorkbenchError, OSError):
            return


@each("value", BAD)
@each("function", FUNCTIONS)
def test_bad_arguments_are_named(function, value, tmp_path, monkeypatch) -> None:
    """Each required argument gets a value of another type."""
    monkeypatch.chdir(tmp_path)
    parameters = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    named = [one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    required = {one.name: value for one in named if one.default is one.empty}
    if required:
        ends_well(lambda: function(**required))


def takes_any_name(function) -> bool:
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(function).parameters.values())


@each("function", [case for case in FUNCTIONS if not takes_any_name(*case.values)])
def test_an_unknown_argument_is_named(function) -> None:
    """The error lists the existing arguments."""

    def call() -> None:
        if inspect.iscoroutine(result := function(nope=1)):
            asyncio.run(result)

    with pytest.raises((UsageError, InvalidArguments), match="is not an argument"):
        call()


def _handler_of_a_misspelled_kind() -> None:
    @wb.Inbox(keys=["k"]).on("transaction.complete")
    def handle(event: Any) -> None: ...


MISTAKES = {
    "a diagram": (lambda: wb.charts.state_diagram("transactions"), "did you mean transaction"),
    "a sequence": (lambda: wb.sequences.catalogue["refund-ful"], "did you mean refund-full"),
    "a kind of event": (lambda: wb.events.sample("user.update"), "did you mean user.updated"),
    "a kind to wait for": (lambda: wb.Inbox(keys=["k"]).wait("user.update"), "did you mean user.updated"),
    "a kind to handle": (_handler_of_a_misspelled_kind, "did you mean transaction.completed"),
    "a period": (lambda: wb.history([]).approvals(freq="decade"), "must be one of day, week, month, quarter, year"),
    "an exercise": (lambda: wb.course.check("start1", wb.connect()), "did you mean start-1"),
    "a seed": (lambda: wb.connect(seed="a"), "connect: seed must be a whole number"),
    "a seed of a sandbox": (lambda: wb.Sandbox(seed="a"), "Sandbox: seed must be a whole number"),
    "a setting": (lambda: wb.Sandbox(behavior={"unknown_member": True}), "did you mean unknown_members"),
    "a base URL": (lambda: wb.Client(base_url="x", api_key="k"), "Client: base_url must begin with https://"),
    "an argument of a control": (
        lambda: wb.Sandbox().register_endpoint("http://127.0.0.1", key="x"), "register_endpoint: key is not an argument",
    ),
    "a member of a fault": (lambda: wb.Sandbox().add_fault("status", matching={"cardid": 1}), "matching.cardid is not"),
    "an amount": (lambda: wb.withdrawals.usd(25), "must be dollars and cents"),
    "native units": (lambda: wb.withdrawals.native_units(2.5), "must be a whole number"),
    "typed data": (lambda: chains.digest({}), "typed data needs types"),
    "a task": (lambda: wb.course.task("fraud", wb.connect()), "must be one of"),
    "a client": (lambda: wb.browse(3), "takes a Client or a Session, not int"),
}  # fmt: skip


@each("mistake, words", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_a_usage_error(mistake, words) -> None:
    """The error states what is allowed or the nearest name, and does not mention sending."""
    with pytest.raises(UsageError, match=words) as caught:
        mistake()

    assert "Nothing was sent" not in str(caught.value)


def test_a_control_that_refuses_says_it_in_its_own_words() -> None:
    """The error does not claim that a service refused the call."""
    with wb.Sandbox().serve() as url:
        for sandbox in (wb.Sandbox(), wb.connect(url).sandbox):
            with pytest.raises(wb.NotFound, match=r"^settle: Transaction not found$"):
                sandbox.settle("00000000-0000-4000-8000-000000000000")
            with pytest.raises(UsageError, match=r"^cards\.lock: card_id must be text, not an int$"):
                sandbox.cards.lock(card_id=3)


HALF = "\ud800"
UNUSABLE: dict[str, Callable[[Any, Any], Any]] = {
    "key with half a character": lambda api, path: wb.events.sample("user.updated", HALF),
    "id with half a character": lambda api, path: wb.events.sample("user.updated", "k", event_id=HALF),
    "version with half a character": lambda api, path: wb.events.sample("user.updated", "k", version=HALF),
    "columns that are lists": lambda api, path: wb.to_frame(api.list_contracts(), reveal=[[]]),
    "tenant that is a list": lambda api, path: wb.connect(tenant=[]),
    "users without an id": lambda api, path: wb.rewards.fetch(api, [{}]),
    "users that are lists": lambda api, path: wb.rewards.fetch(api, [[]]),
    "columns of one name, CSV": lambda api, path: wb.to_file(pd.DataFrame([[1, 2]], columns=["a", "a"]), path / "x.csv"),
    "columns of one name, HTML": lambda api, path: wb.to_file(pd.DataFrame([[1, 2]], columns=["a", "a"]), path / "x.html"),
    "options that are numbers": lambda api, path: wb.connect("http://127.0.0.1:9", http={1: 2}),
    "size without numbers": lambda api, path: wb.charts.spend_chart(wb.history(api).transactions(), size=()),
    "size of texts": lambda api, path: wb.charts.spend_chart(wb.history(api).transactions(), size=("a", "b")),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", UNUSABLE)
def test_wrong_values_inside_an_argument_are_refused(name: str, tmp_path: Path) -> None:
    """Wrong types inside a list, mapping or text are usage errors too, and no file is left."""
    with wb.connect() as api, pytest.raises(wb.WorkbenchError):
        UNUSABLE[name](api, tmp_path)

    assert list(tmp_path.iterdir()) == []
