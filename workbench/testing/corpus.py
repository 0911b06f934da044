"""A corpus: recorded traffic with replaced values, in a folder that people can read and keep in git.

A corpus is replayed on a sandbox, and its calls can be repeated on the service. A difference that only the sandbox
shows is a fault of the sandbox. A difference that the service shows is a change of the service.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import orjson

from workbench.base.arguments import hide_arguments_of_methods
from workbench.base.errors import (
    ApiError,
    InvalidRequest,
    UnusableFile,
    UsageError,
    WorkbenchError,
    visible,
)
from workbench.base.schema.rules import UUID
from workbench.base.system import toml
from workbench.base.system.files import write_files
from workbench.sandbox.behavior import Behavior, read_behavior
from workbench.service.interface.assumptions import settings
from workbench.service.interface.table import OPERATIONS
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Grid
from workbench.testing.facts import ABSENT, Facts, Reader, differing
from workbench.testing.following import Sample, resource_of
from workbench.testing.learning import Replay, sample_of
from workbench.testing.recorded import MALFORMED, Exchange, Paths, Reading, Texts, given_files, read_traffic
from workbench.testing.recording import exchange_of
from workbench.testing.shapes import TOKEN, Shapes

_KEY, _ABOUT = ".key", "corpus.toml"
_OLD = 90 * 86_400  # age in seconds from which a corpus is reported as old
_SHOWN = 50
_HEAD = """# A corpus of recorded traffic. Private values are replaced by values of the same shape. The file .key, which
# git ignores, has the key of the replacements. An accepted difference needs a reason, for example:
#
# [[accepted]]
# operation = "simulate_refund"
# path = "error/error"
# reason = "asked the provider on 2 March: it will be as documented"
"""


@attrs.frozen
class Difference:
    """A fact in which a replayed call differs from the recorded call."""

    operation: str
    path: str  # such as "status", "answer/status" or "event 0/body/spend/status"
    recorded: Any
    now: Any
    whose: str  # "sandbox" if the sandbox is wrong, and "service" if the service has changed
    place: str  # file of the corpus, and line
    accepted: str = ""  # reason in the `[[accepted]]` entry for this difference


@attrs.frozen(repr=False)
class Checked(Shown):
    """Result of a check: the differences, the number of comparisons, and the items that were not compared."""

    row_type = Difference
    differences: tuple[Difference, ...]
    compared: int  # number of calls and events that were compared
    problems: tuple[str, ...]  # accepted differences that no longer occur
    notes: tuple[str, ...]  # items that were not compared, with reasons

    @property
    def ok(self) -> bool:
        """Whether facts were compared, all differences are accepted, and all accepted differences occur."""
        return bool(self.compared) and not self.problems and all(row.accepted for row in self.differences)

    def rows(self) -> list[Difference]:
        """Return the differences in call order."""
        return list(self.differences)

    def sheet(self) -> Grid:
        """Return the differences as a sheet."""
        columns = ("operation", "path", "recorded", "now", "whose", "place", "accepted")
        rows = [[visible(str(getattr(row, name)), 44) for name in columns] for row in self.differences[:_SHOWN]]
        open_ = sum(not row.accepted for row in self.differences)
        title = f"compared {self.compared:,}: {open_:,} differences, {len(self.differences) - open_:,} accepted"
        shown = Grid.of_texts(title, columns, rows, (*self.problems, *self.notes))
        return attrs.evolve(shown, total=len(self.differences))


@hide_arguments_of_methods
class Corpus:
    """Recorded traffic in a folder.

    Args:
        folder: The folder; `add` creates it.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def add(
        self,
        paths: Paths,
        *,
        names: Texts | None = None,
    ) -> Reading:
        """Add traffic, and return counts of read and skipped items.

        Names, texts, ids, addresses and keys are replaced by values of the same shape. Documented words, times,
        amounts and statuses stay.

        Args:
            paths: Files and folders, as for `learn`.
            names: Member names of a log, as for `learn`.

        Raises:
            UnusableFile: A file cannot be read, or contains no traffic.
        """
        reading, private = Reading(), self._private()
        shapes = Shapes(bytes.fromhex(private["key"]))

        def lines(given: Path) -> Iterator[bytes]:
            for item in read_traffic([given], names or {}, reading):
                yield reading.read(item.place, shapes.line, item) or b""

        files: dict[Path, Any] = {
            self.folder / f"{given.name}.ndjson": lambda file, given=given: file.writelines(lines(given))
            for given in given_files(paths, names or {}, "Corpus.add")
        }
        if not (self.folder / _ABOUT).exists():
            files[self.folder / _ABOUT] = _HEAD.encode()

        key = self.folder / _KEY
        if not key.exists():  # written before the traffic: without the key, nobody could resolve the traffic's ids
            self.folder.mkdir(parents=True, exist_ok=True)
            ignored = {self.folder / ".gitignore": f"{_KEY}\n".encode()}
            write_files({**ignored, key: orjson.dumps(private)}, private={key})
        files[key] = lambda file: file.write(
            orjson.dumps({**private, "ids": {**private["ids"], **{new: old for old, new in shapes.ids.items()}}})
        )
        write_files(files, private={key})
        return reading

    def _private(self) -> dict[str, Any]:
        """Return the key of the replacements, and the original ids by replaced id. A new corpus gets a new key."""
        try:
            kept: dict[str, Any] = orjson.loads((self.folder / _KEY).read_bytes())
            return {"key": bytes.fromhex(kept["key"]).hex(), "ids": dict(kept["ids"])}
        except (OSError, *MALFORMED):
            return {"key": os.urandom(32).hex(), "ids": {}}

    def check(self, behavior: Behavior | None = None, *, against: object = None) -> Checked:
        """Replay the corpus on a sandbox, and return the facts that differ.

        Args:
            behavior: Behavior of the sandbox: "documented" (default), "observed", or a behavior file.
            against: A session or client of the service. The recorded reads are repeated there, and in a sandbox
                environment the other calls too. Differences from the recorded answers are reported as changes of the
                service.

        Raises:
            UnusableFile: The folder has no corpus.
        """
        if not self.folder.is_dir():
            raise UnusableFile(f"{visible(self.folder.name, 100)}: is not a folder; Corpus.add creates the folder")
        reading = Reading()
        sample = sample_of(read_traffic([self.folder], {}, reading), reading)
        name, changed = read_behavior(behavior)
        replay = Replay(sample, {**settings(name or "documented"), **changed}, search=False)
        replay.run()
        differences = [
            row
            for step, attempt in replay.differences
            for row in _compared(step.name or "event", attempt.recorded, attempt.shown, "sandbox", step.place)
        ]
        notes = [*reading.notes(), *replay.notes()]
        if against is not None:
            again = _Again(against, self._private()["ids"], sample)
            for x in sample.calls:
                differences += again.make(x)
            notes += [f"could not be repeated: {count:,} calls ({why})" for why, count in again.left.items()]
        age = time.time() - reading.newest
        if reading.newest and age > _OLD:
            notes.append(f"the newest call is {int(age // 86_400):,} days old; record again")
        accepted = self._accepted()
        rows = tuple(attrs.evolve(row, accepted=accepted.get((row.operation, row.path), "")) for row in differences)
        unused = sorted(accepted.keys() - {(row.operation, row.path) for row in rows})
        problems = tuple(f"accepted, but no longer different: {' '.join(row)}" for row in unused)
        return Checked(rows, len(sample.calls) + len(sample.events), problems, tuple(notes))

    def _accepted(self) -> dict[tuple[str, str], str]:
        """Return the reasons of accepted differences, by operation and path.

        Raises:
            UsageError: The file is not TOML, or an entry lacks its operation, path or reason.
        """
        try:
            entries = toml.load(self.folder / _ABOUT).get("accepted", [])
            reasons = {(row["operation"], row["path"]): str(row["reason"]) for row in entries}
        except FileNotFoundError:
            return {}
        except (OSError, *MALFORMED) as error:
            raise UsageError(f"{_ABOUT}: {type(error).__name__}; expected operation, path and reason") from None
        if not all(map(str.strip, reasons.values())):
            raise UsageError(f"{_ABOUT}: an accepted difference needs a reason")
        return reasons


def _compared(operation: str, recorded: Facts, now: Facts, whose: str, place: str) -> list[Difference]:
    """Return the facts that differ. If the status differs, it is the only fact returned."""
    paths = sorted(differing(recorded, now))
    return [
        Difference(operation, path, recorded.get(path, ABSENT), now.get(path, ABSENT), whose, place)
        for path in (["status"] if "status" in paths else paths)
    ]


class _Again:
    """Repeater of recorded calls on a service.

    Args:
        api: A session or client of the service.
        ids: Original ids by corpus id.
        sample: The recorded traffic.
    """

    def __init__(self, api: Any, ids: Texts, sample: Sample) -> None:
        self._api, self._new = api, dict(ids)  # id in the service, by id in the corpus
        self._has_effects = getattr(api, "environment", "") == "sandbox"
        ((self._key, _),) = Counter(x.key for x in sample.calls).most_common(1) or [("", 0)]
        self._behind: set[str] = set()  # records changed by calls that were not repeated
        settled = {str(event.body.get("id")).lower() for event in sample.events if event.is_settlement}
        self._behind |= settled - {resource_of(x) for x in sample.calls if x.name == "settle"}
        self.left: Counter[str] = Counter()

    def make(self, x: Exchange) -> list[Difference]:
        """Repeat a call, and return the facts in which the new answer differs."""
        why, now = self._reason(x), None
        old: list[str] = UUID.findall(str(x.received, "utf-8", "replace"))
        new: list[str] = []
        try:
            if not why:
                now = self._sent(x)
                new = UUID.findall(str(now.received, "utf-8", "replace"))
                # ids of which the answer to a repeated read must contain at least one
                known = {self._new[key] for key in old if key in self._new} if not x.operation.effect else ()
                if (now.status == 404 != x.status) or (known and known.isdisjoint(new)):
                    why = "the records no longer exist"
        except WorkbenchError as error:
            why = f"the client does not send such calls: {type(error).__name__}"
        if now is None or why:
            self.left[why] += 1
            if x.ok and x.operation is not None and x.operation.effect:
                self._behind.add(resource_of(x))
            return []
        if len(old) == len(new):
            self._new.update(zip(old, new, strict=True))
        ids = {key.lower() for key in self._new.values()}
        recorded = Reader(x.at or 0.0, ids, set()).read_answer(x.status, self._renamed(x.received))
        shown = Reader(now.at or time.time(), ids, set()).read_answer(now.status, now.received)
        return _compared(x.name, recorded, shown, "service", x.place)

    def _reason(self, x: Exchange) -> str:
        """Return why a call cannot be repeated; empty if it can."""
        if x.name not in OPERATIONS:
            return "the interface document has no such operation"
        if x.operation.effect and not self._has_effects:
            return "calls with an effect are repeated only in a sandbox environment"
        if x.sent_headers.get("content-type", "application/json").partition(";")[0] != "application/json":
            return "the content type is not JSON"
        if x.status in (401, 403, 429):
            return "refused because of the key or the rate limit"
        if x.key != self._key:
            return "made with another API key"
        if resource_of(x) in self._behind - {""}:
            return "the record was changed in a way that cannot be repeated"
        return ""

    def _sent(self, x: Exchange) -> Any:
        with self._api.responses() as answers, suppress(ApiError):
            self._api.send(self._api.from_wire(x.name, self._renamed(orjson.dumps(x.members))))
        sent = exchange_of(answers[-1], Reading())
        if _asked(sent) != self._renamed(_asked(x)):
            raise InvalidRequest("the client does not send such a request", of="check")
        return sent

    def _renamed(self, raw: bytes) -> bytes:
        """Return text with the ids of the service in place of the corpus's ids."""
        return TOKEN.sub(lambda match: self._new.get(match[0], match[0]), str(raw, "utf-8", "replace")).encode()


def _asked(x: Exchange) -> bytes:
    return orjson.dumps([x.body, sorted(x.query)], option=orjson.OPT_SORT_KEYS)
