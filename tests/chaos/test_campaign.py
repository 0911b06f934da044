"""Campaigns against handlers: a right one passes, ten wrong ones are found with the shortest sequence that shows it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.chaos.handlers import WRONG, Ledger
from workbench.errors import UsageError
from workbench.system import http_server
from workbench.system.messages import Request, Response
from workbench.testing import chaos
from workbench.testing.chaos import Plan, events, steps

SMALL = Plan(purchases=60)


def test_a_right_handler_passes() -> None:
    verdict = chaos.run(Ledger, plan=SMALL)

    assert verdict.ok, verdict
    assert verdict.deliveries > 200
    assert "✓ right" in str(verdict)


@pytest.mark.parametrize(
    "purchases", [pytest.param(600, marks=pytest.mark.slow), pytest.param(3_200, marks=pytest.mark.soak)]
)
def test_a_right_handler_passes_thousands_of_deliveries(purchases: int) -> None:
    verdict = chaos.run(Ledger, plan=Plan(purchases=purchases, crashes=10))

    assert verdict.ok, verdict
    assert verdict.deliveries >= 3 * purchases


@pytest.mark.slow
@pytest.mark.parametrize("invariant", WRONG)
def test_a_planted_bug_is_found_and_reduced(invariant: str) -> None:
    verdict = chaos.run(WRONG[invariant], plan=Plan(purchases=120))

    assert verdict.breaches[0].invariant == invariant.strip(), verdict
    assert 1 <= len(verdict.shortest) <= 4, verdict
    assert "shortest sequence" in str(verdict)
    assert verdict._repr_html_()


def test_the_same_seed_replays() -> None:
    first, second = (chaos.run(WRONG["each event counts once"], plan=SMALL, seed=11) for _ in range(2))

    assert first == second
    assert first != chaos.run(WRONG["each event counts once"], plan=SMALL, seed=12)


def test_everything_that_is_planned_happens() -> None:
    plan = Plan(purchases=120)
    found = {step.kind for step in steps(events(plan, 7), plan, 7)}

    assert found == {"event", "duplicate", "reordered", "unknown version", "unknown kind", "forged", "crash"}


def test_a_plan_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text("purchases = 10\nduplicates = 0.5\nrotation = false\n", encoding="utf-8")

    assert chaos.load(file) == Plan(purchases=10, duplicates=0.5, rotation=False)


@pytest.mark.parametrize(
    "text", ["x = 1", "duplicates = 2.0", "purchases = -1", "purchases = true", "crashes = 'a'", "["]
)
def test_a_wrong_plan_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match="plan"):
        chaos.load(file)


@contextmanager
def served(ledger: Ledger) -> Iterator[str]:
    def answer(request: Request) -> Response:
        if request.path == "/books":
            return Response(
                status=200, headers={"content-type": "application/json"}, body=json.dumps(ledger.books()).encode()
            )
        if request.path == "/reset":
            ledger.__init__()  # type: ignore[misc]
            return Response(status=204)
        return Response(status=ledger.receive(dict(request.headers), request.body))

    with http_server.running(answer) as url:
        yield url


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [False, True])
def test_a_handler_is_reached_over_http(wrong: bool) -> None:
    with served((WRONG["each event counts once"] if wrong else Ledger)()) as url:
        verdict = chaos.run(
            lambda: chaos.HttpHandler(f"{url}/webhooks", f"{url}/books", f"{url}/reset"),
            plan=Plan(purchases=20, crashes=0),
        )

    assert verdict.ok is not wrong
    assert bool(verdict.shortest) is wrong


def test_books_that_are_none_are_refused() -> None:
    with http_server.running(lambda _: Response(status=200, body=b"[]")) as url:
        handler = chaos.HttpHandler(url, url)
        with pytest.raises(UsageError, match="whole cents by transaction"):
            handler.books()
