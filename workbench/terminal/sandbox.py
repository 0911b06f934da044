"""`workbench sandbox …`: commands that serve and reset the sandbox, and commands generated from its controls."""

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from cyclopts import App, Group, Parameter

from workbench.base.frozen import frozen
from workbench.base.system.messages import LOOPBACK
from workbench.sandbox import Sandbox
from workbench.sandbox.controls import CONTROLS, perform
from workbench.sandbox.controls.declaration import Control
from workbench.sandbox.embedded import clock_settings
from workbench.service import rendering
from workbench.terminal.binding import command
from workbench.terminal.commands import kebab
from workbench.terminal.events import KEY_VARIABLE
from workbench.terminal.exits import INTERRUPTED, STOPPED, Exit, Stopped, say, usage_error, waiting_for_signals
from workbench.terminal.inputs import input_text
from workbench.terminal.output import Output
from workbench.terminal.where import Name, Text, Uuid, Whole, kept_path, read_duration

if TYPE_CHECKING:
    from workbench.client.session import Session

_KEYS = frozenset({"signing_key"})
_MAX_KEY_FILE = 10_000
_MAX_FILE = 4_000_000
_CONTROL = Group("Control", sort_key=1)
_MONEY = frozenset({"limit", "available", "held", "posted", "refunded"})


def _json(_: object, tokens: Any) -> Any:
    text = tokens[0].value
    try:
        value = json.loads(input_text(Path(text[1:]), _MAX_FILE) if text.startswith("@") else text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"{text!r} is neither a JSON object nor @FILE with a JSON object")
    return value


_TYPES: Mapping[Any, Any] = {
    int: Whole,
    float: Annotated[float, Parameter(metavar="NUMBER")],
    bool: Literal["true", "false"],
    Mapping: Annotated[
        dict[str, Any], Parameter(converter=_json, accepts_keys=False, n_tokens=1, metavar="JSON|@FILE")
    ],
    str: Text,
}
"""Types of options by the type of a control's argument."""
_PLACEHOLDERS = {"limit": "CENTS", "points": "INT", "admin": "ADDRESS", "balance": "USD", "url": "URL"}


def _command(control: Control) -> Callable[..., int]:
    """Return the command for a control."""
    declared = {name: row for name, row in control.signature.parameters.items() if name != "self"}
    taken = [row for name, row in declared.items() if name not in _KEYS]

    def run(api: "Session", /, *, how: Output, **values: object) -> Any:
        present = {row.name: row for row in taken if values[row.name] is not None}
        arguments = {
            name: values[name] == "true" if _kind(row) is bool else values[name] for name, row in present.items()
        }
        if "signing_key" in declared and (key := os.environ.get(KEY_VARIABLE)):
            arguments["signing_key"] = key
        answer = perform(api.sandbox, control.name, arguments)
        if how.output == "table" and isinstance(answer, Mapping) and answer and answer.keys() <= _MONEY:
            return {name: rendering.money(cents) for name, cents in answer.items()}
        return answer

    run.__doc__, run.__name__ = control.doc, control.name
    return command(run, [_parameter(control, row, first=row is taken[0]) for row in taken])


def _parameter(control: Control, parameter: inspect.Parameter, *, first: bool) -> inspect.Parameter:
    """Return a control's argument as an option, or as a positional argument if it is required or first."""
    name, kind, required = parameter.name, _kind(parameter), parameter.default is parameter.empty
    # operations may be spelled in several ways, so cyclopts must not check their names
    choices = () if name == "of" else control.choices.get(name, ())
    placeholders = {**_PLACEHOLDERS, "amount": "CENTS" if kind is int else "USD"}
    metavar: Any = {"metavar": placeholders[name]} if name in placeholders else {}
    options = Parameter(name=f"--{kebab(name)}", group=_CONTROL, show_default=parameter.default is not None, **metavar)
    of_kind: Any = Literal[choices] if choices else Uuid if name.endswith("_id") and kind is str else _TYPES[kind]
    return parameter.replace(
        kind=parameter.POSITIONAL_OR_KEYWORD if required or first else parameter.KEYWORD_ONLY,
        default=str(parameter.default).lower() if kind is bool and parameter.default is not None else parameter.default,
        annotation=Annotated[of_kind if required else of_kind | None, options],
    )


def _kind(parameter: inspect.Parameter) -> Any:
    """Return the type of an argument, without the alternative None and type parameters."""
    kinds = get_args(parameter.annotation) if isinstance(parameter.annotation, UnionType) else (parameter.annotation,)
    return get_origin(kinds[0]) or kinds[0]


@command
def reset(api: "Session", /) -> None:
    """Reset the sandbox to its initial state. Other users' sandboxes are not affected."""
    api.sandbox.reset()
    say("Sandbox reset.")


@command
def advance(api: "Session", duration: str | None = None, /, *, until: datetime | None = None) -> Any:
    """Move the clock forward. Scheduled changes happen at their due times.

    Args:
        duration: Duration with units, such as 2h30m or 3d.
        until: Time to move to, such as 2026-02-01T12:00:00Z.
    """
    if (duration is None) == (until is None):
        raise usage_error("Pass a duration, such as 2h30m, or --until.")
    if until is not None:
        span = until.astimezone(UTC) - api.sandbox.advance(seconds=0).now
    else:
        span = read_duration(duration or "")
    return api.sandbox.advance(seconds=span.total_seconds())


@Parameter(name="*")
@frozen(kw_only=True)
class Listening:
    """Options for a server's address.

    Attributes:
        port: Port. 0 chooses a free port.
        host: Address to listen on. With any address but 127.0.0.1, other machines can connect, and API keys are random.
        host_name: Host name under which other machines reach the server.
        certfile: PEM file with a certificate for TLS.
        keyfile: PEM file with the certificate's private key, if it is not in the certificate file.
        self_signed: Create a self-signed certificate for TLS.
    """

    port: Whole = 0
    host: Name = "127.0.0.1"
    host_name: tuple[Name, ...] = ()
    certfile: Path | None = None
    keyfile: Path | None = None
    self_signed: bool = False


def serve_until_stopped(
    make: Callable[[], Any],
    introduce: Callable[[Any, str], Iterable[str]],
    at: Listening,
    *,
    own_certificate: Path,
    kept: str,
    **options: object,
) -> None:
    """Serve the result of `make` until a signal arrives, then end the command.

    Args:
        make: Function that returns an object with `serve` and `close`.
        introduce: Function that takes the server and its URL, and returns the lines to print once the server runs.
        own_certificate: File for the certificate of `--self-signed`.
        kept: Description of where the state is stored.
        options: Further arguments of `serve`.
    """
    if at.self_signed and (at.certfile or at.keyfile):
        raise usage_error("--self-signed cannot be combined with --certfile or --keyfile.")
    with waiting_for_signals() as wait:
        from workbench.base.system.http_server import served_names

        try:
            names = served_names(at.host, at.host_name)
        except ValueError as error:
            raise usage_error(f"--host-name: {error}") from None
        files, notes = (at.certfile, at.keyfile), []
        if at.self_signed:
            from workbench.sandbox.server import self_signed

            own_certificate.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files = (own_certificate, own_certificate.with_suffix(".key"))
            notes = [f"Certificate: {files[0]}", f"SHA-256 fingerprint: {self_signed(*files, names)}"]
        server = make()
        served = server.serve(at.host, at.port, at.host_name, certfile=files[0], keyfile=files[1], **options)
        with closing(server), served as url:
            print(url, flush=True)
            for line in (*introduce(server, url), *notes):
                say(line)
            sys.stdout.flush()  # a program that reads a pipe needs the lines while the server runs
            try:
                wait()
            except (KeyboardInterrupt, Stopped) as end:
                say(f"Stopped. {kept}", error=True)
                raise Exit(STOPPED if isinstance(end, Stopped) else INTERRUPTED) from None


def serve(
    *,
    db: Path | None = None,
    own: bool = False,
    seed: Whole | None = None,
    environment: Literal["sandbox", "production"] | None = None,
    behavior: Name | None = None,
    clock: Text | None = None,
    world: Name | None = None,
    public: Annotated[bool, Parameter(name="--public-webhooks")] = False,
    webhook_host: list[Name] | None = None,
    api_key_file: Path | None = None,
    forwarded: bool = False,
    at: Listening = Listening(),
) -> None:
    """Serve a sandbox over HTTP for other programs. Stop it with Ctrl-C.

    Args:
        db: Store the state in this file. By default, the state is in memory.
        own: Serve the user's sandbox, which commands share.
        seed: Random seed of a new sandbox; default: 1.
        environment: Environment to imitate; default: sandbox.
        behavior: Behavior in cases that the interface document leaves open: documented (the default), observed, or a
            TOML file of settings.
        clock: Clock of a new sandbox: now, a start time, a speed such as x60, or fixed.
        world: World of a new sandbox: small (the default), program, large, or a TOML file of a card program.
        public: Deliver webhooks to public addresses too.
        webhook_host: Deliver webhooks to this host, even if its address is not allowed by default.
        api_key_file: File with the full API key for a new sandbox. Alternatively, set WORKBENCH_SANDBOX_KEY.
        forwarded: Trust X-Forwarded-Prefix and X-Forwarded-Proto from a proxy. All requests must come through this
            proxy.
    """
    path = kept_path() if own else db
    api_key = _given_key(api_key_file)

    def make() -> Any:
        set_clock = "now" if clock is None and not (own or (db is not None and db.exists())) else clock
        try:
            clock_settings(set_clock)
        except ValueError as error:
            raise usage_error(f"--{error}") from None
        return Sandbox(
            seed=seed,
            environment=environment,
            behavior=behavior,
            clock=set_clock,
            world=world,
            path=path,
            public_webhooks=public,
            webhook_hosts=webhook_host or (),
            api_key=api_key,
            random_keys=None if at.host in LOOPBACK else True,
        )

    def introduce(sandbox: object, url: str) -> Iterable[str]:
        from workbench.sandbox.server import introduction

        return (*introduction(sandbox, url), f"Use it with --url {url}.")

    note = (
        "The state was only in memory. Use --db FILE to store it."
        if path is None
        else f"The state is stored in {path}."
    )
    certificate = (path or kept_path()).parent / "sandbox-tls.crt"
    serve_until_stopped(make, introduce, at, own_certificate=certificate, kept=note, forwarded=forwarded)


def _given_key(file: Path | None) -> str | None:
    """Return the API key from a file, or from the environment."""
    if file is None:
        return os.environ.get("WORKBENCH_SANDBOX_KEY") or None
    try:
        return input_text(file, _MAX_KEY_FILE)
    except OSError as error:
        raise usage_error(f"--api-key-file: {error.strerror or error}") from None


def __getattr__(name: str) -> Callable[..., int | None]:
    if name not in CONTROLS:
        raise AttributeError(name)
    return _command(CONTROLS[name])


NOT_COMMANDS = (
    "reset",
    "advance",
    "resend",
    "changed",
    "changes",
    "savepoint",
    "undo",
    "last_event",
    "world_id",
)
"""Controls without a generated command. Some have a separate command; only the panel, sessions and sequences call the
rest.
"""
_CONTROLS = Group("Controls (not part of the interface)", sort_key=1)


def add_controls(app: App) -> None:
    """Add the commands of the controls to the command group of the sandbox."""
    for name, row in CONTROLS.items():
        if name not in NOT_COMMANDS:
            app.command(f"{__name__}:{name}", name=kebab(name), help=row.summary, group=_CONTROLS)
