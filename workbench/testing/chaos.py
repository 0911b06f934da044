"""Prove that a webhook handler is right: a month of traffic with everything that goes wrong, and a verdict.

wb.chaos.run(make_handler)                  # sends duplicates, reordered, forged and unknown events, restarts the handler

The verdict says what broke, on which event, and the shortest sequence that shows it. All comes from one seed.
"""

import random
import subprocess
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs
import httpx

from workbench.errors import UsageError, hide_arguments, visible
from workbench.rendering.markup import Shown
from workbench.rendering.text import Cell, Sheet
from workbench.schema import strict_json
from workbench.session import connect
from workbench.webhooks.verify import SECONDARY, SIGNATURE, sign

_START_SECONDS = 30.0
_POLL_INTERVAL = 0.1
KEY = "chaos-signing-key-1"
ROTATED_KEY = "chaos-signing-key-2"
_FORGER = "not-the-signing-key"
_SHOPS = (("Example Market", "5411"), ("Example Books", "5942"), ("Example Fuel", "5541"), ("Example Hotel", "7011"))
_UNACKNOWLEDGED = 12  # events that are delivered again after a crash
_JSON = {"content-type": "application/json"}


@attrs.frozen(kw_only=True)
class Plan:
    """What goes wrong, as shares of the deliveries between 0 and 1, and how much traffic there is."""

    purchases: int = 300
    duplicates: float = 0.08
    reordered: float = 0.10
    delayed: float = 0.03  # so far that the service would have given up and sent again
    lost_acknowledgements: float = 0.05
    forged: float = 0.04
    unknown_kinds: float = 0.02
    unknown_versions: float = 0.03
    rotation: bool = True  # of the signing key, half way: the previous key signs the secondary header
    crashes: int = 1


@attrs.frozen(kw_only=True)
class Step:
    """One thing that is done to the handler: a delivery of a kind, or a crash."""

    number: int = 0
    kind: str  # "event", "duplicate", "reordered", "unknown version", "unknown kind", "forged" or "crash"
    name: str  # resource and action
    event_id: str = ""
    transaction: str = ""
    cents: int | None = None  # what it posts; None: nothing
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    body: bytes = attrs.field(default=b"", repr=False)

    @property
    def genuine(self) -> bool:
        """Whether it is an event of the service that a handler has to accept."""
        return self.kind not in ("forged", "crash")

    def __str__(self) -> str:
        posts = "" if self.cents is None else f", posts {self.cents} cents"
        return f"{self.number}: {self.kind} {self.name} {self.event_id[:8]}{posts}".rstrip()


def events(plan: Plan, seed: int) -> list[dict[str, Any]]:
    """Return the events of a month of purchases."""
    chance = random.Random(seed)
    with connect(seed=seed, journal=False) as api:
        cards = api.guide()["cards"]["active"]
        for _ in range(plan.purchases):
            _purchase(api, chance, cards)
        found = [one["event"] for one in api.sandbox.events()]
    return [dict(one) for one in found if one["resource"] == "transaction"]


def _purchase(api: Any, chance: random.Random, cards: list[str]) -> None:
    merchant, category = chance.choice(_SHOPS)
    cents = chance.randint(100, 9_999)
    declined = {"decline_reason": "cvv_mismatch"} if chance.random() < 0.1 else {}
    made = api.simulate_authorization(
        card_id=chance.choice(cards), amount=cents, currency="USD", merchant_name=merchant,
        merchant_category_code=category, **declined,
    )  # fmt: skip
    transaction = str(made.transaction_id)
    if made.status == "authorized":
        story = chance.random()
        if story < 0.1:
            api.simulate_reversal(transaction_id=transaction, new_amount=0)
        elif story < 0.9:
            if story < 0.25:
                api.simulate_reversal(transaction_id=transaction, new_amount=cents // 2)
            api.sandbox.settle(transaction)
            for part in (4, 5)[: chance.choice((0, 0, 1, 2))]:
                if cents // part // 2:
                    api.simulate_refund(transaction_id=transaction, amount=cents // part // 2)
    if chance.random() < 0.2:
        api.sandbox.advance(hours=chance.randint(1, 12))


def steps(found: list[dict[str, Any]], plan: Plan, seed: int, key: str = KEY) -> list[Step]:
    """Return what is done to the handler, in order."""
    chance = random.Random(seed + 1)
    placed: list[tuple[float, Step]] = []
    rotated_at = len(found) / 2 if plan.rotation else len(found) + 1
    for position, event in enumerate(found):
        keys = (ROTATED_KEY, key) if position >= rotated_at else (key,)
        placed += _placed(event, position, keys, plan, chance)
    ordered = [step for _, step in sorted(placed, key=lambda entry: entry[0])]
    for crash in range(plan.crashes, 0, -1):
        at = len(ordered) * crash // (plan.crashes + 1)
        last = [step for step in ordered[:at] if step.genuine][-_UNACKNOWLEDGED:]
        again = [attrs.evolve(step, kind="duplicate") for step in last]  # the service does not know that they arrived
        ordered[at:at] = [Step(kind="crash", name=""), *again]
    return [attrs.evolve(step, number=number) for number, step in enumerate(ordered, 1)]


def _placed(
    event: dict[str, Any], position: int, keys: tuple[str, ...], plan: Plan, chance: random.Random
) -> Iterator[tuple[float, Step]]:
    kind, at = "event", float(position)
    if chance.random() < plan.unknown_versions:
        kind, event = "unknown version", {**event, "version": "1.9.0", "addedLater": {"members": ["of", "1.9.0"]}}
    if chance.random() < plan.reordered:
        kind, at = "reordered" if kind == "event" else kind, position + chance.uniform(1, 8)
    elif chance.random() < plan.delayed:
        kind, at = "reordered" if kind == "event" else kind, position + chance.uniform(50, 200)
    yield at, _step(kind, event, keys)
    if chance.random() < plan.duplicates:
        yield at + chance.choice((0.5, 3.5, 40.5)), _step("duplicate", event, keys)
    if chance.random() < plan.lost_acknowledgements:
        yield at + 0.25, _step("duplicate", event, keys)
    if chance.random() < plan.forged:
        yield at + 0.75, _step("forged", {**event, "id": _identity(chance)}, (_FORGER,))
    if chance.random() < plan.unknown_kinds:
        body = {"id": _identity(chance)}
        unknown = {**body, "resource": "loyalty", "action": "expired", "version": "1.0.0", "body": body}
        yield at + 0.6, _step("unknown kind", unknown, keys)


def _identity(chance: random.Random) -> str:
    return f"{chance.getrandbits(32):08x}-0000-4000-8000-{chance.getrandbits(48):012x}"


def _step(kind: str, event: dict[str, Any], keys: tuple[str, ...]) -> Step:
    body = strict_json.dumps(event)
    headers = {**_JSON, **{name: sign(body, key) for name, key in zip((SIGNATURE, SECONDARY), keys, strict=False)}}
    name = f"{event['resource']}.{event['action']}"
    transaction = event["body"]["id"] if event["resource"] == "transaction" else ""
    cents = event["body"]["spend"]["amount"] if name == "transaction.completed" else None
    return Step(
        kind=kind, name=name, event_id=event["id"], transaction=transaction, cents=cents, headers=headers, body=body
    )  # fmt: skip


class Handler(Protocol):
    """A handler with its books. Each object begins with empty books, and checks signatures with the key it was made with."""

    def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        """Take a delivery, and return the HTTP status of the response."""

    def books(self) -> Mapping[str, int]:
        """Return what each transaction posted, in cents: settlements less refunds. Those of 0 may be left out."""

    def restart(self) -> None:
        """Lose what is only in memory, as a crash of the process does."""


class HttpHandler:
    """A handler of another program.

    Args:
        url: URL that takes deliveries.
        books: URL that returns a JSON object: cents by the id of the transaction.
        reset: URL that empties the books (POST); without it what breaks is reported, but not reduced to its shortest sequence.
        restart: Command that ends the program and starts it again; without it there is no crash.
    """

    def __init__(self, url: str, books: str, reset: str | None = None, restart: Sequence[str] = ()) -> None:
        self._url, self._books, self._restart = url, books, restart
        none_kept = httpx.Limits(max_keepalive_connections=0)  # a handler may be restarted at any time
        self._http = httpx.Client(timeout=10, trust_env=False, limits=none_kept)
        if reset is not None:
            self._http.post(reset).raise_for_status()

    def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        """Send a delivery; 0 where no response came."""
        try:
            return self._http.post(self._url, content=body, headers=dict(headers)).status_code
        except httpx.HTTPError:
            return 0

    def books(self) -> Mapping[str, int]:
        """Read the books.

        Raises:
            UsageError: They are not a JSON object of whole cents.
        """
        try:
            answer = self._http.get(self._books)
            found = answer.raise_for_status().json()
        except (httpx.HTTPError, ValueError) as error:
            raise UsageError(
                f"books: {visible(self._books, 200)} does not answer: {type(error).__name__}", of="chaos"
            ) from None
        if not isinstance(found, dict) or not all(type(cents) is int for cents in found.values()):
            raise UsageError("books: must be a JSON object of whole cents by transaction", of="chaos")
        return found

    def restart(self) -> None:
        """Run the command, and wait until the books can be read."""
        if not self._restart:
            return
        subprocess.run(list(self._restart), check=False, timeout=_START_SECONDS)
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            try:
                self._http.get(self._books)
            except httpx.HTTPError:
                time.sleep(_POLL_INTERVAL)
            else:
                return


MAX_REPLAYS = 400
"""Replays of a shorter sequence, in the search for the shortest."""
MAX_BREACHES = 100
MAX_PURCHASES = 100_000
_TRIES = 4  # of an event that is not accepted; the service would go on for a day
_LAW = {
    "forged": "forgeries are refused",
    "unknown kind": "unknown kinds are acknowledged",
    "unknown version": "unknown versions are handled",
    "crash": "nothing is lost in a crash",
    "duplicate": "each event counts once",
    "reordered": "the order of arrival does not matter",
    "rotation": "both keys are accepted while one is rotated",
}
"""The invariant that a kind of step tries, the most telling first."""


@attrs.frozen
class Breach:
    """An invariant that broke, and where it showed."""

    invariant: str
    found: str
    transaction: str = ""
    step: Step | None = None


@attrs.frozen(kw_only=True)
class Verdict(Shown):
    """The result of a campaign. The seed and the plan replay it."""

    seed: int
    plan: Plan
    deliveries: int
    breaches: tuple[Breach, ...] = ()
    shortest: tuple[Step, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing broke."""
        return not self.breaches

    def sheet(self) -> Sheet:
        """Return the verdict as it is shown."""
        words = [f"{one.invariant}: {visible(one.found, 300)}" for one in self.breaches[:5]]
        if len(self.breaches) > 5:
            words.append(f"and {len(self.breaches) - 5} more")
        if self.passed:
            right = "each event counted once, forgeries were refused, and the books are right."
            words = [f"{self.deliveries:,} deliveries: {right}"]
        shortest = ("The shortest sequence that shows it:", *map(str, self.shortest)) if self.shortest else ()
        status = Cell(("✓ right",), "status:done") if self.passed else Cell(("✗ wrong",), "status:failed")
        return Sheet(title=f"Chaos, seed {self.seed}", status=status, words=tuple(words), code=shortest)


def load(path: str | Path) -> Plan:
    """Read a plan from a TOML file: `purchases = 300`, `duplicates = 0.1` and so on.

    Raises:
        UsageError: The file cannot be read, or has other names or values.
    """
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"plan: {visible(str(path), 200)} cannot be read: {visible(str(error), 200)}", of="chaos"
        ) from None
    kinds = {field.name: field.type for field in attrs.fields(Plan)}
    wrong = [visible(name, 40) for name, value in table.items() if not _fits(value, kinds.get(name))]
    if wrong:
        names = ", ".join(field.name for field in attrs.fields(Plan))
        raise UsageError(f"plan: unknown or out of range: {', '.join(wrong)}; there are {names}", of="chaos")
    return Plan(**table)


def _fits(value: object, kind: object) -> bool:
    if kind is float:
        return type(value) in (int, float) and 0 <= float(str(value)) <= 1
    return type(value) is kind and (kind is bool or 0 <= int(str(value)) <= MAX_PURCHASES)


@hide_arguments
def run(
    make: Callable[[], Handler],
    *,
    plan: Plan | None = None,
    seed: int = 7,
    key: str = KEY,
    fresh: bool = True,
    progress: Callable[[int, int], object] | None = None,
) -> Verdict:
    """Send a month of traffic to a handler, with everything that goes wrong, and judge its books.

    Args:
        make: Makes the handler, with empty books; called again for each shorter sequence that is tried.
        plan: What goes wrong, and how often.
        seed: Seed of the traffic and of everything that goes wrong.
        key: Key that deliveries are signed with; default `workbench.testing.chaos.KEY`.
        fresh: Whether `make` can empty the books; otherwise what broke is not reduced.
        progress: Called with the number of deliveries done, and of all.
    """
    plan = plan or Plan()
    planned = steps(events(plan, seed), plan, seed, key)
    breaches = _deliver(make(), planned, progress)
    shortest: tuple[Step, ...] = ()
    if breaches and fresh:
        shortest = _shorten(make, planned, breaches[0])
        tried = [law for kind, law in _LAW.items() if any(step.kind == kind for step in shortest)]
        if breaches[0].step is None and tried:
            breaches[0] = attrs.evolve(breaches[0], invariant=tried[0])
    count = sum(step.kind != "crash" for step in planned)
    return Verdict(seed=seed, plan=plan, deliveries=count, breaches=tuple(breaches), shortest=shortest)


def _expected(done: Iterable[Step]) -> dict[str, int]:
    """Return what each transaction posted after these steps: each event of the service once, whatever its order."""
    books: Counter[str] = Counter()
    for step in {step.event_id: step for step in done if step.genuine and step.cents is not None}.values():
        books[step.transaction] += step.cents or 0
    return {transaction: cents for transaction, cents in books.items() if cents}


def _deliver(
    handler: Handler, planned: Sequence[Step], progress: Callable[[int, int], object] | None = None
) -> list[Breach]:
    """Do the steps, and return what broke."""
    breaches: list[Breach] = []
    again: list[Step] = []
    for number, step in enumerate(planned, 1):
        if step.kind == "crash":
            handler.restart()
            continue
        status = handler.receive(step.headers, step.body)
        if step.kind == "forged" and _accepted(status):
            breaches.append(Breach(_LAW["forged"], f"{step} was accepted ({status})", step.transaction, step))
        elif step.genuine and not _accepted(status):
            again.append(step)
        if progress is not None:
            progress(number, len(planned))
    for step in again:
        statuses = [handler.receive(step.headers, step.body) for _ in range(_TRIES)]
        if not any(map(_accepted, statuses)):
            kind = "rotation" if _accepts_one_key(handler, step) else step.kind
            law, found = _LAW.get(kind, "events are acknowledged"), f"{step} was refused at each try ({statuses[-1]})"
            breaches.append(Breach(law, found, step.transaction, step))
    expected, books = _expected(planned), {one: cents for one, cents in handler.books().items() if cents}
    for transaction in sorted(expected.keys() | books.keys()):
        right, wrong = expected.get(transaction, 0), books.get(transaction, 0)
        if right != wrong:
            found = f"transaction {transaction}: the books show {wrong} cents, the service posted {right}"
            breaches.append(Breach("the books are right", found, transaction))
    return breaches[:MAX_BREACHES]


def _accepted(status: int) -> bool:
    return 200 <= status < 300


def _accepts_one_key(handler: Handler, step: Step) -> bool:
    """Whether a delivery that two keys sign is accepted once the handler's own key signs it alone."""
    if SECONDARY not in step.headers:
        return False
    headers = {name: value for name, value in step.headers.items() if name != SECONDARY}
    return _accepted(handler.receive({**headers, SIGNATURE: step.headers[SECONDARY]}, step.body))


def _shorten(make: Callable[[], Handler], planned: Sequence[Step], breach: Breach) -> tuple[Step, ...]:
    """Return the shortest sequence found that breaks something of the same transaction or step."""
    left = MAX_REPLAYS

    def breaks(some: Sequence[Step]) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and any(
            one.transaction == breach.transaction and (one.step is None) == (breach.step is None)
            for one in _deliver(make(), some)
        )

    kept = [step for step in planned if step.kind == "crash" or step.transaction == breach.transaction]
    if breach.step is not None:
        kept = [breach.step] if breaks([breach.step]) else kept
    if not breaks(kept):  # it takes more than one transaction
        kept = list(planned)
    size = max(len(kept) // 2, 1)
    while size:
        for start in range(len(kept) - size, -1, -size):
            shorter = kept[:start] + kept[start + size :]
            if shorter and breaks(shorter):
                kept = shorter
        size //= 2
    return tuple(kept)
