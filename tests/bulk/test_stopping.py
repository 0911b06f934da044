"""After any exception, a bulk run, or many runs of a sequence, starts no further calls."""

import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from workbench.base.system.progress import Progress
from workbench.client.calls.client import Client
from workbench.runs.bulk import Interrupted, resume, run
from workbench.runs.sequences import Sequence, Stepper, param, run_many, step
from workbench.runs.sequences.sequence import Parameter
from workbench.sandbox import Sandbox

pytestmark = pytest.mark.slow  # each test interrupts a run or a stepper, and several wait for calls in flight

BASE = Sandbox(seed=3)
CARD = BASE.guide()["cards"]["active"][0]
BEFORE = {one["id"] for one in BASE.records("transaction")}
ROWS = 120
PURCHASE = {"card_id": CARD, "currency": "USD", "merchant_name": "Corner Grocery", "merchant_category_code": "5411"}
TWICE = Sequence(
    name="twice",
    parameters=(Parameter(name="amount", type="whole"),),
    steps=tuple(step(name, "simulate_authorization", amount=param("amount"), **PURCHASE) for name in ("one", "two")),
)


class Stopped(BaseException):
    """A BaseException that is not an Exception, such as those of test runners and async frameworks."""


def raising(error: BaseException) -> Callable[..., Any]:
    """Return a function that raises an error, whatever its arguments."""

    def handler(*_: object) -> Any:
        raise error

    return handler


SIGNALS: dict[str, tuple[int, Callable[..., Any]]] = {
    "Ctrl-C": (signal.SIGINT, signal.default_int_handler),
    "exit in a SIGTERM handler": (signal.SIGTERM, raising(SystemExit(3))),
    "time-out by an alarm": (signal.SIGALRM, raising(TimeoutError("too late"))),
    "cancellation": (signal.SIGUSR1, raising(Stopped())),
}
KINDS = [*SIGNALS, "progress callback", "worker"]
EXPECTED = {
    "Ctrl-C": KeyboardInterrupt, "exit in a SIGTERM handler": SystemExit, "time-out by an alarm": TimeoutError,
    "cancellation": Stopped, "progress callback": ZeroDivisionError, "worker": Stopped,
}  # fmt: skip


class Service(httpx.BaseTransport):
    """A sandbox in which a signal or an error occurs at one call. It counts the calls that begin."""

    def __init__(self, kind: str, at: int) -> None:
        self.sandbox = BASE.fork()
        self.calls = 0
        self.reached = False
        self._raised = threading.Event()  # set when the progress callback has raised
        self._inner = self.sandbox.transport()
        self._kind, self._at = kind, at
        self._lock = threading.Lock()

    def client(self) -> Client:
        return Client(base_url=self.sandbox.base_url, api_key=self.sandbox.full_key, transport=self)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with self._lock:
            self.calls += 1
            now = self.calls == self._at
        time.sleep(0.001)
        if self.reached and self._kind == "progress callback":
            self._raised.wait(10)  # otherwise all rows might be sent before the callback's thread runs
        if now:
            self.reached = True
            if self._kind in SIGNALS:
                signal.pthread_kill(threading.main_thread().ident or 0, SIGNALS[self._kind][0])
            elif self._kind == "worker":
                raise Stopped
        return self._inner.handle_request(request)

    def progress(self, _: Progress) -> None:
        if self.reached and self._kind == "progress callback":
            self._raised.set()
            raise ZeroDivisionError

    @property
    def effects(self) -> int:
        return sum(1 for one in self.sandbox.records("transaction") if one["id"] not in BEFORE)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Install signal handlers that raise, and restore the previous handlers."""
    before = {number: signal.signal(number, handler) for number, handler in SIGNALS.values()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def moments(*plain: tuple[int, int]) -> list[Any]:
    """Return worker counts, each with calls to stop at: one call in the plain tier, a hundred in the soak."""
    many = [pytest.param(workers, range(1, 101), marks=pytest.mark.soak, id=f"{workers}-many") for workers in (1, 3, 8)]
    return [*(pytest.param(workers, [at], id=f"{workers}-{at}") for workers, at in plain), *many]


# In CPython, an exception that a signal handler raises during `Thread.start` can end the new thread.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("workers, calls", moments((1, 1), (3, 17), (8, 17)))
@pytest.mark.parametrize("kind", KINDS)
def test_a_bulk_run_begins_nothing_after_it_raised(
    tmp_path: Path, kind: str, workers: int, calls: Iterable[int]
) -> None:
    """Calls in flight are awaited and recorded, and a resume sends each remaining row once."""
    for at in calls:
        begins_nothing(tmp_path / f"run-{at}", kind, workers, at)


def begins_nothing(path: Path, kind: str, workers: int, at: int) -> None:
    """Stop a bulk run at a call, and look at its calls, its file and its resume."""
    service = Service(kind, at)
    rows = [{**PURCHASE, "amount": 100 + number} for number in range(ROWS)]
    with pytest.raises(EXPECTED[kind]):
        run(service.client().simulate_authorization, rows, workers=workers, path=path, progress=service.progress)
    calls, effects = service.calls, service.effects
    with closing(sqlite3.connect(path)) as file, file:
        states = dict(file.execute("SELECT state, count(*) FROM row GROUP BY state"))
    file.close()
    time.sleep(0.01)

    assert (calls, effects) == (service.calls, service.effects)
    assert calls < ROWS
    assert states.get("done", 0) == effects
    assert states.get("unknown", 0) == (kind == "worker")
    assert "sending" not in states
    final = resume(service.client(), path, rows, workers=workers, progress=False)
    assert service.effects == ROWS - len(final.unknown())


@pytest.mark.parametrize("workers, calls", moments((1, 17), (3, 1), (3, 17)))
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "progress callback"])
def test_many_runs_of_a_sequence_begin_nothing_after_they_raised(kind: str, workers: int, calls: Iterable[int]) -> None:
    """After Ctrl-C, the runs in progress are finished. After any other exception, only the calls in flight are."""
    for at in calls:
        begins_no_call(kind, workers, at)


def begins_no_call(kind: str, workers: int, at: int) -> None:
    """Stop many runs at a call, and look at the calls after it."""
    service = Service(kind, at)
    with pytest.raises(EXPECTED[kind]) as caught:
        run_many(service.client(), TWICE, [{"amount": 100 + n} for n in range(ROWS)], workers=workers)
    calls = service.calls
    time.sleep(0.01)

    assert calls == service.calls
    assert calls < ROWS
    if kind == "Ctrl-C":
        assert 2 * len(caught.value.result) == calls  # type: ignore[attr-defined]


def test_a_second_interrupt_ends_the_wait(tmp_path: Path) -> None:
    """The call in flight becomes unknown in the result and in the file, and its row is not sent again."""
    service, path, release = Service("", 0), tmp_path / "run", threading.Event()
    rows = [{**PURCHASE, "amount": 100 + number} for number in range(3)]
    usual = service.handle_request

    def slow(request: httpx.Request) -> httpx.Response:
        for delay in (0.05, 0.3):
            time.sleep(delay)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        release.wait(10)
        return usual(request)

    service.handle_request = slow  # type: ignore[method-assign]
    with pytest.raises(Interrupted) as caught:
        run(service.client().simulate_authorization, rows, path=path, progress=False)
    release.set()
    service.handle_request = usual  # type: ignore[method-assign]
    final = resume(service.client(), path, rows, progress=False)

    assert {"unknown": 1, "planned": 2} == caught.value.result.counts
    assert {"done": 2, "unknown": 1} == final.counts


def test_a_row_in_a_rate_pause_is_not_sent_after_an_interrupt(tmp_path: Path) -> None:
    """The pause ends, the row is not sent, and a resume sends it once."""
    service, path = Service("", 0), tmp_path / "run"
    rows = [{**PURCHASE, "amount": 100 + number} for number in range(6)]
    usual, main = service.handle_request, threading.main_thread().ident or 0

    def limited(request: httpx.Request) -> httpx.Response:
        if service.calls < 2:
            return usual(request)
        threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
        return httpx.Response(429, headers={"Retry-After": "2"}, request=request)

    service.handle_request = limited  # type: ignore[method-assign]
    with pytest.raises(Interrupted) as caught:
        run(service.client().simulate_authorization, rows, path=path, progress=False)
    service.handle_request = usual  # type: ignore[method-assign]
    calls = service.calls
    time.sleep(0.5)

    assert calls == service.calls == 2
    assert caught.value.result.counts == {"done": 2, "not_sent": 1, "planned": 3}
    assert resume(service.client(), path, rows, progress=False).ok
    assert service.effects == len(rows)


def test_an_interrupted_stepper_plays_nothing_more() -> None:
    """The outcome of the interrupted step is unknown."""
    service = Service("Ctrl-C", 1)
    stepper = Stepper(service.client(), TWICE, amount=100)
    with pytest.raises(KeyboardInterrupt):
        stepper.next()

    assert stepper.next() is None
    assert stepper.left == ("one", "two")
    assert 1 == service.calls
