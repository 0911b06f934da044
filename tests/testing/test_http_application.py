"""Applications behind HTTP: deliveries at the same time and crashes inside a delivery find what one after the other hides."""

import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import killpg
from pathlib import Path

import pytest

import workbench as wb
from tests.ports import free_port
from tests.testing.served import PAYING
from workbench import testing
from workbench.base.system import http_server
from workbench.base.system.messages import Response
from workbench.testing import HttpApplication
from workbench.testing.deliveries import KEY

SANDBOX = wb.Sandbox(behavior={"behavior": "observed", "refund_event_id": "transaction"})  # with idempotency keys


@contextmanager
def served(kind: str, folder: Path, *, crashes: bool = True) -> Iterator[HttpApplication]:
    port, api_port = free_port(), free_port()
    given = ["env", f"API_PORT={api_port}", f"API_KEY={SANDBOX.full_key}"]
    start = [*given, sys.executable, "-m", "tests.testing.served", "--start", kind, str(port), str(folder), KEY]
    subprocess.run(start, check=True)
    url = f"http://127.0.0.1:{port}"
    pid = folder / "pid"
    end = shlex.join(["sh", "-c", f"kill -9 -$(cat {shlex.quote(str(pid))})"]) if crashes else ""
    application = HttpApplication(
        url=f"{url}/webhooks",
        books=f"{url}/books",
        reset=f"{url}/reset",
        kill=end,
        start=shlex.join(start),
        patience=0.5 if kind not in PAYING else 3,
        api_port=api_port if kind in PAYING else None,
        unknown=f"{url}/unknown" if kind in PAYING else None,
    )
    application.wait()
    try:
        yield application
    finally:
        with suppress(ProcessLookupError):
            killpg(int(pid.read_text(encoding="utf-8")), signal.SIGKILL)


@pytest.mark.parametrize(
    "kind, universes",
    [
        pytest.param("right", 8, marks=pytest.mark.slow),
        pytest.param("right", 1_000, marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
        pytest.param("fastapi", 300, marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_a_right_application_passes(kind: str, universes: int, tmp_path: Path) -> None:
    """Of one process, and of two workers of FastAPI: killed inside deliveries, and started again."""
    with served(kind, tmp_path) as application:
        result = testing.explore(application, universes=universes)

    print(result)
    result.check()
    assert result.counts["deliveries at the same time"] > 3 * universes
    assert result.counts["crashes inside a delivery"] > universes // 3
    assert "right" not in str(result)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", ["right", "fastapi"])
def test_a_right_application_passes_10_000_universes_without_a_crash(kind: str, tmp_path: Path) -> None:
    with served(kind, tmp_path, crashes=False) as application:
        result = testing.explore(application, universes=10_000)

    print(result)
    result.check()
    assert result.universes == 10_000


@pytest.mark.parametrize(
    "kind, crashes",
    [
        pytest.param("checks, then acts", False, marks=pytest.mark.slow),
        pytest.param("two commits", True, marks=pytest.mark.soak),
    ],
)
def test_what_one_delivery_after_the_other_hides_is_found(kind: str, crashes: bool, tmp_path: Path) -> None:
    """A campaign that delivered one after the other, and crashed between deliveries, called both of these right."""
    with served(kind, tmp_path, crashes=crashes) as application:
        result = testing.explore(application, universes=100)

    assert result.failure is not None
    names = {"each event counts once", "the books agree with the service"}  # which comes first is up to the crash
    assert result.failure.breach.invariant in names, str(result)


@pytest.mark.slow
def test_calls_of_a_right_application_pass(tmp_path: Path) -> None:
    """Its refund is lost, cut or answered 503, and it sends it again with the key of the first attempt."""
    counts: Counter[str] = Counter()
    with served("pays once", tmp_path, crashes=False) as application:
        for fault in range(1, 6):
            result = testing.explore(application, decisions=large_purchase(fault), sandbox=SANDBOX)
            result.check()
            counts += Counter(result.counts)

    assert counts["calls"] == 5
    assert len([name for name in counts if name.startswith("calls ")]) == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind, broken",
    [
        ("retries blindly", "no refund is made twice"),
        ("gives up", "unknown outcomes are resolved"),
    ],
)
def test_calls_of_a_wrong_application_are_found(kind: str, broken: str, tmp_path: Path) -> None:
    with served(kind, tmp_path, crashes=False) as application:
        result = testing.explore(application, decisions=large_purchase(1), sandbox=SANDBOX)

    assert result.failure is not None, str(result)
    assert result.failure.breach.invariant == broken


def large_purchase(fault: int) -> dict[str, int]:
    """Return the decisions of a universe of one purchase of 99.99 whose refund fails; 1: the answer to it is lost."""
    return {"call of the application": fault, "traffic 1 amount": 2}


def test_books_that_are_none_are_refused() -> None:
    with (
        http_server.running(lambda _: Response(status=200, body=b"[]")) as url,
        pytest.raises(wb.InvalidRequest, match="whole cents by transaction"),
    ):
        HttpApplication(url=url, books=url).read_books()
