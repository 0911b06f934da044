"""Errors say what happened, survive pickling, and contain no control characters from outside."""

import copy
import pickle
from datetime import UTC, datetime

from tests.each import each
from workbench import errors
from workbench.base.errors import Problem, hidden_characters, visible

ATTEMPT = errors.Attempt(
    id="a1", operation="simulate_refund", what="POST refund", started=datetime(2026, 1, 1, tzinfo=UTC),
    environment="sandbox",
)  # fmt: skip
EVERY = [
    errors.InvalidRequest([Problem("amount", "type", "must be a whole number")], of="simulate_refund"),
    errors.InvalidArguments("amount is missing"),
    errors.UsageError([Problem("seed", "type", "must be a whole number")], of="connect"),
    errors.WrongEnvironment("sandbox only"),
    errors.NotArmed("not armed"),
    errors.DuplicateSuspected("again", earlier="a0"),
    errors.InvalidProfile([Problem("base_url", "invalid", "is not a URL")]),
    errors.NotSent("refused"),
    errors.CannotRecord("disk full"),
    errors.NoAnswer("none"),
    errors.OutcomeUnknown("it may have been carried out", attempt=ATTEMPT),
    errors.NotFound(
        operation="x", status=404, error="NotFoundError", message="Card not found", body={"a": 1}, hint="h"
    ),
    errors.RateLimited(operation="x", status=429),
    errors.UnexpectedAnswer("unreadable.", problems=[Problem("id", "type", "must be text")], body=b"x"),
    errors.ResponseTooLarge("large"),
    errors.UnreadableEffect("done", attempt=ATTEMPT, problems=[Problem("id", "type", "must be text")]),
    errors.UnexpectedRedirect("elsewhere"),
    errors.RedirectedEffect("elsewhere, and it may have been carried out", attempt=ATTEMPT),
    errors.InvalidWebhook("signature"),
    errors.EventTimeout("no event"),
    errors.UnusableFile("newer"),
    errors.FileBusy("held"),
    errors.MissingExtra("pandas", "tables", "pip install …"),
]


def test_every_error_is_tried() -> None:
    """The list below contains every error class."""

    def leaves(cls: type) -> set[type]:
        return {cls} | {
            leaf for sub in cls.__subclasses__() if sub.__module__ == errors.__name__ for leaf in leaves(sub)
        }

    abstract = {errors.WorkbenchError, errors.ApiError}
    by_status = set(errors.STATUSES.values()) - {errors.NotFound, errors.RateLimited}

    assert leaves(errors.WorkbenchError) - abstract - by_status == {type(error) for error in EVERY}


@each("error", EVERY, ids=lambda error: type(error).__name__)
@each("how", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "deepcopy", "pickle"])
def test_errors_survive_a_copy(error: errors.WorkbenchError, how: object) -> None:
    """A copied or unpickled error has the same message and attributes."""
    error.add_note("note")
    again = how(error)  # type: ignore[operator]

    assert type(error) is type(again)
    assert str(error) == str(again)
    assert vars(error) == vars(again)


def test_problems_are_listed_together() -> None:
    """A single problem is one sentence, and several are a list. Both say that nothing was sent."""
    one = errors.InvalidRequest([Problem("amount", "minimum", "must be at least 1")], of="simulate_refund")
    two = errors.InvalidRequest([Problem("a", "x", "is wrong"), Problem("", "one_of", "give a or b")])

    assert str(one) == "simulate_refund: amount must be at least 1\nNothing was sent."
    assert str(two) == "2 problems:\n  - a is wrong\n  - give a or b\nNothing was sent."


@each(
    "status,expected",
    [
        (400, errors.BadRequest),
        (401, errors.Unauthorized),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (422, errors.Unprocessable),
        (429, errors.RateLimited),
        (500, errors.ServiceFailure),
        (503, errors.ServiceFailure),
        (418, errors.ApiError),
    ],
)
def test_statuses_have_classes(status: int, expected: type) -> None:
    """Every documented status has its own error class. Any other 4xx is an ApiError."""
    assert expected is errors.ApiError.of(status)


def test_words_of_the_service_are_clipped_and_escaped() -> None:
    """A message from the service is truncated at 500 characters, with escaped control characters."""
    error = errors.BadRequest(operation="x", status=400, error="Bad\x1b[31m", message="\x1b]0;" + "a" * 10_000)

    assert "\x1b" not in str(error)
    assert "(Bad\\x1b[31m)" in str(error)
    assert "… (10,004 characters)" in str(error)
    assert len(str(error)) < 700


@each(
    "text,expected",
    [
        ("plain", "plain"),
        ("Ünïcode 東京 👩", "Ünïcode 東京 👩"),
        ("a\x00b", "a\\x00b"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("line\nline\r\t", "line\\x0aline\\x0d\\x09"),
        ("\x9b31m", "\\x9b31m"),
        ("abc\u202egpj", "abc\\u202egpj"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\u2028\u2029\ufeff", "\\u2028\\u2029\\ufeff"),
        ("half\ud800", "half\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_visible(text: str, expected: str) -> None:
    """Invisible and direction characters are shown as escapes."""
    assert expected == visible(text)
    assert expected.encode()


def test_visible_is_cut() -> None:
    """A long text is truncated, with its original length."""
    assert visible("a" * 2000, 3) == "aaa… (2,000 characters)"
    assert visible("aaa", 3) == "aaa"


def test_hidden_characters_are_named() -> None:
    """Hidden characters are listed without duplicates."""
    assert hidden_characters("a\u202eb\u200bc\u202e") == ("U+202E", "U+200B")
    assert hidden_characters("Ünïcode") == ()


def test_the_tree_has_every_error() -> None:
    """The module's docstring lists all errors and warnings."""
    classes = [name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)]

    assert [name for name in classes if name not in str(errors.__doc__)] == []
