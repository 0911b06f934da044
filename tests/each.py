"""Laws over tables: one test for all cases of a table, which names the cases that fail."""

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
    """Run a test with each case, as `pytest.mark.parametrize` does, but as one test; raise the failures of all cases together.

    pytest spends milliseconds on each test, more than most laws need for a case. The cases share the test's fixtures: a law
    that needs new ones for each case, or tens of milliseconds for one, is parametrized.

    Args:
        names: Names of the arguments, separated by commas.
        cases: A value for each test, or a tuple if there are several names; `pytest.param` gives it an id. They are read when
            the test runs, so that a generator costs nothing before.
        ids: Ids of the cases, or the function that returns the id of a value. Defaults to the values.
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


def across(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    """Return the pairs of two tables for `parametrize`: quick ones with each value of both, the others in the slow tier."""
    left, right = list(first), list(second)
    fewer = min(len(left), len(right))
    return [
        pytest.param(one, other, marks=[] if (i - j) % fewer == 0 else pytest.mark.slow)
        for i, one in enumerate(left)
        for j, other in enumerate(right)
    ]
