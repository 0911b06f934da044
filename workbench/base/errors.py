"""All error classes.

    WorkbenchError
    ├── InvalidRequest (ValueError)     the request breaks a rule, nothing was sent; .problems
    │   └── InvalidArguments (TypeError)  arguments are missing or unknown
    ├── UsageError (ValueError)         an argument of a local function is not allowed; .problems
    ├── WrongEnvironment                a sandbox-only operation in production, or a control at a real service
    ├── NotArmed                        an effect in production without arm(); nothing was sent
    ├── DuplicateSuspected              an equal write was sent within a day; nothing was sent
    ├── InvalidProfile (ValueError)     a profile of the profiles file is invalid; .problems
    ├── NotSent                         the request did not leave this machine; .__cause__ has the reason
    │   └── CannotRecord                the journal cannot be written, so nothing was sent
    ├── NoAnswer                        a read received no response after all retries
    ├── OutcomeUnknown                  a call with an effect was sent, but got no readable answer; .attempt.id
    ├── ApiError                        the service refused; .operation .status .error .message .body
    │   └── BadRequest  Unauthorized  Forbidden  NotFound  Conflict  Unprocessable  RateLimited
    │       ServiceFailure (reads)
    ├── UnexpectedAnswer                the call was carried out, but its answer is unreadable; .problems .body
    │   ├── ResponseTooLarge            the answer exceeds the limit, and was not read completely
    │   └── UnreadableEffect            an unreadable answer to a call with an effect; also an OutcomeUnknown
    ├── UnexpectedRedirect              the service sent a redirect, which is never followed
    │   └── RedirectedEffect            a redirected call with an effect; also an OutcomeUnknown
    ├── InvalidWebhook                  a webhook delivery was rejected
    ├── EventTimeout (TimeoutError)     no matching event arrived in time
    ├── MissingExtra (ImportError)      a library is not installed; .extra installs it
    └── UnusableFile                    a file has another format or version, or is damaged, or the disk is full
        └── FileBusy                    another process held the lock for too long

    AdviceWarning (UserWarning)         a call that is allowed, but probably a mistake

No message contains a key or a private value. Problems name the path and the rule. Text from the service is shown with
escaped control characters and a limited length.
"""

import re
import sys
import unicodedata
import warnings
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import attrs

from workbench.base.frozen import frozen
from workbench.base.remedies import Remedy

if TYPE_CHECKING:
    from logging import Logger

P = ParamSpec("P")
R = TypeVar("R")
_SHOWN = 500


def visible(text: str, limit: int | None = None) -> str:
    """Escape the invisible characters of a text, and truncate the text at `limit` characters; None: no limit."""
    if text.isascii() and text.isprintable():
        shown = text
    else:
        shown = "".join(_escape(c) if _hidden(c) else c for c in text)
    if limit is not None and len(shown) > limit:
        shown = f"{shown[:limit]}… ({len(text):,} characters)"
    return shown


def hidden_characters(text: str) -> tuple[str, ...]:
    """Return the code points, such as `U+202E`, of invisible characters in a text, without duplicates."""
    if text.isascii() and text.isprintable():
        return ()
    return tuple(dict.fromkeys(f"U+{ord(c):04X}" for c in text if _hidden(c)))


def _hidden(character: str) -> bool:
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
        return True
    return character in _BLANK or "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
"""Letters, marks and symbols without a visible shape."""


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@frozen
class Problem:
    """A problem with a value: path, broken rule, message and remedy. The value itself is never stored."""

    path: str  # wire path, such as `externalFiatAccount.accountNumber`; empty for the entire value
    rule: str  # keyword of the broken rule: "required", "type", "pattern", "maximum"…
    message: str
    remedy: Remedy | None = None  # what to do; the text depends on the interface in use

    @property
    def text(self) -> str:
        """Message and remedy, without the path."""
        return self.message if self.remedy is None else f"{self.message}; {self.remedy}"

    def __str__(self) -> str:
        return f"{self.path} {self.text}" if self.path else self.text


MAX_PROBLEMS = 100
"""Maximum number of problems stored for one value. Further problems are only counted."""


def first_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the first `MAX_PROBLEMS` problems. A last problem states the number of further problems, if any."""
    rest = iter(problems)
    kept = tuple(islice(rest, MAX_PROBLEMS))
    more = sum(1 for _ in rest)
    return (*kept, Problem("", "more", f"and {more:,} more")) if more else kept


@frozen(kw_only=True)
class Attempt:
    """One call with an effect, as recorded in the journal."""

    id: str
    operation: str
    what: str  # description without private values, such as "POST refund of 25.00 USD on 3f2a…"
    started: datetime
    environment: str


class WorkbenchError(Exception):
    """Base class of all workbench errors. Instances can be pickled and copied."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


def _again(cls: type[WorkbenchError], args: tuple[Any, ...], state: Mapping[str, Any]) -> WorkbenchError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


@cache
def logger() -> "Logger":
    """Return the logger of the package."""
    from logging import getLogger  # imported late, since most commands log nothing

    return getLogger("workbench")


class AdviceWarning(UserWarning):
    """A warning about an unusual value; the call continues."""


def advise(text: str) -> None:
    """Issue an `AdviceWarning` at the line that called the workbench."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "workbench":
        frame, level = frame.f_back, level + 1
    warnings.warn(text, AdviceWarning, stacklevel=level)


def _listed(problems: tuple[Problem, ...]) -> str:
    if len(problems) == 1:
        return str(problems[0])
    return f"{len(problems)} problems:" + "".join(f"\n  - {problem}" for problem in problems)


def in_python(problem: Problem) -> Problem:
    """Return a problem with Python argument names instead of wire names; column names stay unchanged."""
    if problem.path.startswith("row "):
        return problem
    named = problem.message if problem.rule not in _NAMES_MEMBERS else _snake(problem.message)
    before, dot, name = problem.path.rpartition(".")
    name = name if problem.rule == "unknown" else _snake(name)  # an unknown name is shown as the caller wrote it
    return attrs.evolve(problem, path=f"{_snake(before)}{dot}{name}", message=named)


def _snake(text: str) -> str:
    return re.sub("(?<=[a-z0-9])[A-Z]", lambda match: f"_{match[0].lower()}", text)


_NAMES_MEMBERS = frozenset({"one_of", "any_of"})


def _as_problems(given: Iterable[Problem] | str) -> tuple[Problem, ...]:
    return (Problem("", "invalid", given),) if isinstance(given, str) else tuple(given)


class InvalidRequest(WorkbenchError, ValueError):
    """The request breaks a rule, so nothing was sent. `problems` lists all broken rules."""

    def __init__(self, problems: Iterable[Problem] | str, *, of: str = "") -> None:
        self.problems = _as_problems(problems)
        self.operation = of
        named = tuple(in_python(problem) for problem in self.problems)
        super().__init__(f"{of + ': ' if of else ''}{_listed(named)}\nNothing was sent.")


class UsageError(WorkbenchError, ValueError):
    """An argument of a local function is missing, unknown or not allowed. `problems` lists all problems."""

    def __init__(self, problems: Iterable[Problem] | str, *, of: str = "", as_given: bool = False) -> None:
        """Create the error. With `as_given`, paths refer to an external value such as JSON, not to Python arguments."""
        self.problems = _as_problems(problems)
        self.function = of
        named = self.problems if as_given else tuple(in_python(problem) for problem in self.problems)
        super().__init__(f"{of + ': ' if of else ''}{_listed(named)}")


_MAX_LISTED = 12


def allowed_names(names: Iterable[object]) -> str:
    """Return names as comma-separated text, which is truncated if it is long."""
    listed = [visible(str(name), 60) for name in names]
    more = f", … ({len(listed)} in all)" if len(listed) > _MAX_LISTED else ""
    return ", ".join(listed[:_MAX_LISTED]) + more


def nearest(name: object, names: Iterable[object]) -> str:
    texts = [str(name) for name in names]
    if not texts:
        return ""
    from difflib import get_close_matches  # the import is needed only for an error

    near = get_close_matches(str(name).lower(), texts, 1, 0.6)
    near = near or [text for text in texts if text.lower() == str(name).lower()]
    return f"; did you mean {near[0]}?" if near else ""


def unknown_name(name: object, names: Iterable[object], what: str = "an argument") -> Problem:
    """Return the problem for an unknown name, with the closest known name as a suggestion."""
    listed = list(names)
    known = f" (known: {allowed_names(listed)})" if listed else ""
    return Problem(visible(str(name), 60), "unknown", f"is not {what}{nearest(name, listed)}{known}")


def not_allowed(argument: str, value: object, allowed: Iterable[object]) -> Problem:
    """Return the problem for a value that is not allowed, with the closest allowed value as a suggestion."""
    listed = list(allowed)
    return Problem(argument, "enum", f"must be one of {allowed_names(listed)}{nearest(value, listed)}")


def unsupported_file(name: str, extensions: Iterable[str]) -> str:
    """Return the error text for a file with an unsupported extension."""
    return f"{visible(name, 100)}: unsupported file extension (supported: {', '.join(extensions)})"


class InvalidArguments(InvalidRequest, TypeError):
    """Arguments are missing or unknown, so nothing was sent."""


class WrongEnvironment(WorkbenchError):
    """A sandbox-only operation was aimed at production, or a sandbox control at a real service. Nothing was sent."""


class NotArmed(WorkbenchError):
    """A call with an effect was not armed with `arm()` in production, so nothing was sent."""


class DuplicateSuspected(WorkbenchError):
    """The same operation with an equal body was sent within the last day, so this call was not sent.

    `earlier` is the id of the earlier attempt.
    """

    def __init__(self, message: str, *, earlier: str) -> None:
        self.earlier = earlier
        super().__init__(message)


class InvalidProfile(WorkbenchError, ValueError):
    """A profile of the profiles file is invalid. `problems` lists all problems."""

    def __init__(self, problems: Iterable[Problem] | str) -> None:
        self.problems = _as_problems(problems)
        super().__init__(_listed(self.problems))


class NotSent(WorkbenchError):
    """The request did not leave this machine, so a retry is safe."""


class CannotRecord(NotSent):
    """The journal cannot be written, so nothing was sent."""


class NoAnswer(WorkbenchError):
    """A read received no response after all retries."""


class OutcomeUnknown(WorkbenchError):
    """A call with an effect was sent, but got no readable answer. The service may have carried out the call.

    The call was not sent again. `attempt.id` identifies the call in the journal. `status`, `error`, `message` and
    `correlation_id` come from an answer such as a 500, and are None without an answer.
    """

    def __init__(
        self,
        text: str,
        *,
        attempt: Attempt,
        status: int | None = None,
        error: str | None = None,
        message: str | None = None,
        correlation_id: str | None = None,
    ) -> None:
        self.attempt = attempt
        self.status = status
        self.error = error
        self.message = message
        self.correlation_id = correlation_id
        super().__init__(text)


class ApiError(WorkbenchError):
    """The service refused the request. `status`, `error` and `message` come from the answer."""

    correlation_id: str | None = None
    """Id under which the service logs the call, if the answer states it."""

    def __init__(
        self,
        *,
        operation: str,
        status: int,
        error: str | None = None,
        message: str | None = None,
        body: object = None,
        hint: str | None = None,
    ) -> None:
        self.operation = operation
        self.status = status
        self.error = error
        self.message = message
        self.body = body
        self.hint = hint
        shown = visible(message or error or "no error message", _SHOWN)
        kind = f" ({visible(error, 80)})" if error and message else ""
        super().__init__(f"{operation} was refused with {status}{kind}: {shown}{'. ' + hint if hint else ''}")

    @staticmethod
    def of(status: int) -> type["ApiError"]:
        """Return the error class of an HTTP status."""
        return STATUSES.get(status) or (ServiceFailure if status >= 500 else ApiError)


class BadRequest(ApiError):
    """400: the service considers the request invalid."""


class Unauthorized(ApiError):
    """401: the key is missing or invalid."""


class Forbidden(ApiError):
    """403: the key or the tenant lacks the permission."""


class NotFound(ApiError):
    """404: the resource does not exist, or this environment does not offer the operation."""


class Conflict(ApiError):
    """409: the request conflicts with another record or with a call in progress."""


class Unprocessable(ApiError):
    """422: the request is well formed, but the state of the resource does not allow it."""


class RateLimited(ApiError):
    """429: too many calls. `retry_after` is the delay in seconds that the service asks for; None if not stated."""

    retry_after: float | None = None


class ServiceFailure(ApiError):
    """A read was answered with 5xx. For a call with an effect, a 5xx raises OutcomeUnknown."""


STATUSES: Mapping[int, type[ApiError]] = {
    400: BadRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 422: Unprocessable,
    429: RateLimited, 500: ServiceFailure,
}  # fmt: skip


class UnexpectedAnswer(WorkbenchError):
    """The service reported success, so the call was carried out, but its answer cannot be read."""

    def __init__(
        self, message: str, *, problems: Iterable[Problem] = (), body: object = None, status: int = 200
    ) -> None:
        self.problems = tuple(problems)
        self.body = body
        self.status: int | None = status
        named = tuple(attrs.evolve(problem, path=problem.path or "the answer") for problem in self.problems)
        super().__init__(f"{message.rstrip(' :.')}: {_listed(named)}" if named else message)


class ResponseTooLarge(UnexpectedAnswer):
    """The answer to a read exceeds the size limit and was not read completely."""


class UnreadableEffect(OutcomeUnknown, UnexpectedAnswer):
    """A call with an effect was carried out, but its answer is unreadable or too large, so the result is unknown.

    The journal records the call as done. Do not send the call again.
    """

    def __init__(
        self,
        message: str,
        *,
        attempt: Attempt,
        problems: Iterable[Problem] = (),
        body: object = None,
        status: int = 200,
    ) -> None:
        OutcomeUnknown.__init__(self, message, attempt=attempt)
        UnexpectedAnswer.__init__(self, message, problems=problems, body=body, status=status)


class UnexpectedRedirect(WorkbenchError):
    """The service redirected the request. Redirects are never followed."""


class RedirectedEffect(OutcomeUnknown, UnexpectedRedirect):
    """The service redirected a call with an effect. It is unknown whether the call was carried out."""


class InvalidWebhook(WorkbenchError):
    """A webhook delivery was rejected because of its signature, size or format."""


class EventTimeout(WorkbenchError, TimeoutError):
    """No matching event arrived in time."""


class UnusableFile(WorkbenchError):
    """A file has another format or version, is damaged, or cannot be written. The file is unchanged."""


class FileBusy(UnusableFile):
    """Another process held the file's lock for too long, so nothing was stored."""


class MissingExtra(WorkbenchError, ImportError):
    """A required library is not installed. `.extra` is the name of the extra that installs the library."""

    def __init__(self, library: str, extra: str, command: str) -> None:
        self.library, self.extra = library, extra
        super().__init__(f"{library} is not installed; the extra {extra} installs it. Run: {command}")


_AT_THE_TOP = {
    "ApiError",
    "InvalidRequest",
    "NotFound",
    "NotSent",
    "OutcomeUnknown",
    "WorkbenchError",
}  # `workbench` itself exports these names
# callers catch the base classes of these errors
_NARROWER = {"InvalidArguments", "RedirectedEffect", "ResponseTooLarge", "FileBusy"}


def __dir__() -> list[str]:
    public = (Problem, WorkbenchError)
    names = {name for name, value in globals().items() if isinstance(value, type) and issubclass(value, public)}
    return sorted(names - _AT_THE_TOP - _NARROWER)
