"""Run all cases of a table in one test, which names the cases that fail."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., None]


def _id(value: Any) -> str:
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else repr(value)[:80]


def each(
    names: str, cases: Iterable[Any], ids: Callable[[Any], Any] | Iterable[str] | None = None
) -> Callable[[Test], Test]:
    """Run one test with each case, like `pytest.mark.parametrize`, and raise the failures of all cases together.

    pytest spends milliseconds on each test, more than most cases take. The cases share the test's fixtures. A test whose
    cases need separate fixtures or tens of milliseconds is parametrized instead.

    Args:
        names: Names of the arguments, separated by commas.
        cases: A value for each case, or a tuple if there are several names; `pytest.param` sets an id. The cases are read when
            the test runs, so a generator costs no time at import.
        ids: Ids of the cases, or a function that returns the id of a value. Defaults to the values.
    """
    arguments = [name.strip() for name in names.split(",")]

    @functools.cache
    def table() -> list[tuple[str, dict[str, Any]]]:
        listed = list(ids) if ids is not None and not callable(ids) else None
        rows = []
        for index, case in enumerate(cases):
            named = isinstance(case, type(pytest.param()))
            if named and case.marks:
                raise TypeError(f"a case of {names} has marks: parametrize it")
            values = tuple(case.values) if named else tuple(case) if len(arguments) > 1 else (case,)
            if callable(ids):
                text = "-".join(str(ids(value) or _id(value)) for value in values)
            else:
                text = listed[index] if listed else "-".join(map(_id, values))
            rows.append((str((named and case.id) or text), dict(zip(arguments, values, strict=True))))
        if not rows:
            raise ValueError(f"no case of {names}")
        return rows

    def over(test: Test) -> Test:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failures: list[BaseException] = []
            failed: list[str] = []
            for text, case in table():
                try:
                    test(**fixtures, **case)
                except (Exception, BaseExceptionGroup, pytest.fail.Exception) as error:  # noqa: BLE001 - raised with those of the other cases
                    error.add_note(f"{names} = {text}")
                    failures.append(error)
                    failed.append(text)
            if failures:
                raise BaseExceptionGroup(f"{len(failed)} of {len(table())} cases: {', '.join(failed)}", failures)

        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in arguments]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return over


def some(every: int, cases: Iterable[Any], start: int = 0) -> list[Any]:
    """Return the cases for `parametrize`: one of `every` cases is in `make test`, the others are in `make soak`."""
    taken = []
    for number, case in enumerate(cases):
        given = (
            case
            if isinstance(case, type(pytest.param()))
            else pytest.param(*(case if isinstance(case, tuple) else (case,)))
        )
        marks = given.marks if (number - start) % every == 0 else [*given.marks, pytest.mark.soak]
        taken.append(pytest.param(*given.values, id=given.id, marks=marks))
    return taken


def across(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    """Return all pairs of two tables for `parametrize`.

    Each value is in at least one quick pair, and other pairs are in `make soak`.
    """
    left, right = list(first), list(second)
    fewer = min(len(left), len(right))
    return [
        pytest.param(one, other, marks=[] if (i - j) % fewer == 0 else pytest.mark.soak)
        for i, one in enumerate(left)
        for j, other in enumerate(right)
    ]
