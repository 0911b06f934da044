"""Applications behind HTTP: deliveries at the same time and crashes inside a delivery find what one after the other hides."""

import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import kill
from pathlib import Path

import pytest

import workbench as wb
from tests.ports import free_port
from workbench import testing
from workbench.system import http_server
from workbench.system.messages import Response
from workbench.testing import HttpApplication
from workbench.testing.deliveries import KEY


@contextmanager
def served(kind: str, folder: Path, *, crashes: bool = True) -> Iterator[HttpApplication]:
    port = free_port()
    start = [sys.executable, "-m", "tests.testing.served", "--start", kind, str(port), str(folder), KEY]
    subprocess.run(start, check=True)
    url = f"http://127.0.0.1:{port}"
    pid = folder / "pid"
    end = shlex.join(["sh", "-c", f"kill -9 $(cat {shlex.quote(str(pid))})"]) if crashes else ""
    application = HttpApplication(
        url=f"{url}/webhooks",
        books=f"{url}/books",
        reset=f"{url}/reset",
        kill=end,
        start=shlex.join(start),
        patience=0.5,
    )
    application.wait()
    try:
        yield application
    finally:
        with suppress(ProcessLookupError):
            kill(int(pid.read_text(encoding="utf-8")), signal.SIGKILL)


@pytest.mark.slow
def test_a_right_application_passes(tmp_path: Path) -> None:
    with served("right", tmp_path) as application:
        result = testing.explore(application, universes=15)

    print(result)
    result.check()
    assert result.counts["deliveries at the same time"] > 50
    assert result.counts["crashes inside a delivery"] > 5
    assert "right" not in str(result)


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


def test_books_that_are_none_are_refused() -> None:
    with (
        http_server.running(lambda _: Response(status=200, body=b"[]")) as url,
        pytest.raises(wb.InvalidRequest, match="whole cents by transaction"),
    ):
        HttpApplication(url=url, books=url).read_books()
