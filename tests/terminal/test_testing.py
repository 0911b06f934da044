"""The commands `workbench test explore` and `workbench test http`."""

import inspect
import shlex
from types import SimpleNamespace

import pytest

from workbench import testing
from workbench.base.schema import strict_json
from workbench.base.system import http_server
from workbench.base.system.messages import Response
from workbench.client.webhooks.verify import SECONDARY, SIGNATURE, sign
from workbench.terminal import testing as commands
from workbench.testing import Universe
from workbench.testing.deliveries import KEY

APPLICATION = "tests.testing.applications:"
HTTP_OPTIONS = (
    "--deliveries http://a.invalid --books http://b.invalid --reset http://c.invalid --kill 'stop it' --start "
    "'start it' --api-port 9 --unknown http://d.invalid --clock now --universes 9 --seed 0"
)


@pytest.mark.slow
def test_a_failure_ends_with_5_its_story_and_a_replay(wb):
    ended = wb("test", "explore", f"{APPLICATION}CountsRepetitions", "--behavior", "observed")

    assert (ended.code, "The shortest story" in ended.out) == (5, True)
    again = "--behavior observed --universe "
    assert f"Replay with: workbench test explore tests.testing.applications:CountsRepetitions {again}" in ended.err


@pytest.mark.parametrize(
    "command, given",
    [
        ("explore", "--universes 9 --seed 0 --behavior observed"),
        ("http", HTTP_OPTIONS),
    ],
)
def test_a_replay_has_every_option(command, given, wb, monkeypatch):
    """The printed command repeats every option, except those that select a single run."""
    failed = SimpleNamespace(failure=SimpleNamespace(universe=7), universes=8, interrupted=False)
    monkeypatch.setattr(testing, "explore", lambda *_, **__: failed)
    positional = [f"{APPLICATION}Shop"] if command == "explore" else []
    ended = wb("test", command, *positional, *shlex.split(given))
    replay = ended.err.partition("Replay with: ")[2].strip()
    names = set(inspect.signature(getattr(commands, command)).parameters) - {"application", "universe"}

    assert replay == shlex.join(["workbench", "test", command, *positional, *shlex.split(given), "--universe", "7"])
    assert {f"--{name.replace('_', '-')}" for name in names} <= set(shlex.split(replay))


def test_what_was_tried_ends_with_0(wb):
    ended = wb("test", "explore", f"{APPLICATION}Shop", "--universes", "3", "--behavior", "observed")

    assert ended.code == 0
    assert "tried: 3 universes" in ended.out
    assert "right" not in ended.out


def test_an_error_of_the_application_is_named_as_such(wb, monkeypatch):
    """The application's own error is reported with its place, and not as a bug of the workbench."""

    def fails(universe):
        raise RuntimeError("no configuration")

    monkeypatch.setattr(Universe, "run", fails)
    ended = wb("test", "explore", f"{APPLICATION}Shop")

    assert ended.code == 2
    assert "Shop failed: RuntimeError: no configuration (raised in" in ended.err.replace("\n", " ")


def test_an_exploration_that_is_stopped_ends_with_130(wb, monkeypatch):
    def interrupted(universe):
        raise KeyboardInterrupt

    monkeypatch.setattr(Universe, "run", interrupted)
    ended = wb("test", "explore", f"{APPLICATION}Shop")

    assert ended.code == 130
    assert "Stopped." in ended.err


@pytest.mark.parametrize("name", ["nothing", "tests.testing.applications:Nobody", "no.such:Module", "json:__name__"])
def test_an_application_that_cannot_be_loaded_is_wrong_input(wb, name):
    assert wb("test", "explore", name).code == 2


def test_an_application_behind_http_is_tried(wb):
    books = {}
    seen = set()

    def answer(request):
        if request.path == "/books":
            return Response(status=200, headers={"content-type": "application/json"}, body=strict_json.dumps(books))
        if request.path == "/reset":
            books.clear()
            seen.clear()
            return Response(status=204)
        if sign(request.body, KEY) not in (request.headers.get(SIGNATURE), request.headers.get(SECONDARY)):
            return Response(status=401)
        event = strict_json.loads(request.body)
        if event["id"] not in seen and event["action"] == "completed":
            books[event["body"]["id"]] = books.get(event["body"]["id"], 0) + event["body"]["spend"]["amount"]
        seen.add(event["id"])
        return Response(status=200)

    with http_server.running(answer) as url:
        ended = wb(
            "test",
            "http",
            "--deliveries",
            f"{url}/webhooks",
            "--books",
            f"{url}/books",
            "--reset",
            f"{url}/reset",
            "--universes",
            "2",
        )

    assert ended.code == 0, ended.out
    assert "at the same time" in ended.out
    assert "not simulated" in ended.out.replace("\n", " ").replace("  ", " ")


def test_books_that_cannot_be_read_are_an_error(wb):
    ended = wb(
        "test", "http", "--deliveries", "http://127.0.0.1:9/", "--books", "http://127.0.0.1:9/", "--universes", "1"
    )

    assert ended.code == 2
    assert "does not answer" in ended.err
