"""What one client and its views hold for all their calls."""

from workbench.client.guards import Guards
from workbench.client.journal import Journal
from workbench.client.keys import Key
from workbench.client.pace import Budget, Clock, Pace
from workbench.interface.convert import Converter


class ClientContext:
    """The service as one client knows it, its clock, its journal, its guards and its pace."""

    __slots__ = (
        "budget",
        "check",
        "clock",
        "converter",
        "environment",
        "guards",
        "heard",
        "host",
        "idempotency_header",
        "journal",
        "key",
        "noticed",
        "pace",
        "read_headers",
        "timeout",
        "write_headers",
    )  # fmt: skip

    def __init__(
        self, *, host: str, key: Key, environment: str, timeout: float | None, check: bool, converter: Converter, clock: Clock,
        guards: Guards, pace: Pace, journal: Journal | None, agent: str, idempotency_header: str | None = None,
    ) -> None:  # fmt: skip
        self.host = host
        self.key = key
        self.environment = environment
        self.timeout = timeout
        self.check = check
        self.converter = converter
        self.clock = clock
        self.guards = guards
        self.pace = pace
        self.journal = journal
        self.budget = Budget()
        self.idempotency_header = idempotency_header
        self.heard: tuple[str, float] | None = None  # the newest Date header, and our time of day when it came
        self.noticed: dict[str, str] = {}
        self.read_headers = [
            (b"Host", host.encode()),
            (b"Accept", b"application/json"),
            (b"Accept-Encoding", b"gzip, deflate"),
            (b"User-Agent", agent.encode()),
        ]
        self.write_headers = [*self.read_headers, (b"Content-Type", b"application/json")]
