"""What was just done by hand, as a sequence: ids of earlier answers become references, private values parameters."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.errors import InvalidRequest
from workbench.interface import masks, walk
from workbench.interface.rules import FULL, UUID
from workbench.interface.table import OPERATIONS
from workbench.sequences.audit import SCRIPTED
from workbench.sequences.steps import NOTHING, Expect, Param, Parameter, Ref, Sequence, Step


def from_journal(journal: Iterable[Any], *, last: int | None = None, name: str = "from-the-journal") -> Sequence:
    """Make a sequence of the calls a journal holds that were done or refused, oldest first.

    A private value is masked in the journal, so it becomes a parameter that has to be given. A settlement is a control
    of the sandbox and no call; one is put before the first refund of a transaction that went through.

    Args:
        journal: `api.journal`, or some of its entries.
        last: Only so many of the newest calls.

    Raises:
        InvalidRequest: The journal holds no such call.
    """
    entries = [one for one in journal if one.operation in SCRIPTED and str(one.outcome) in {"done", "refused"}]
    entries = entries[-last:] if last is not None else entries
    if not entries:
        raise InvalidRequest("the journal holds no call that a sequence could repeat", of="from_journal")
    maker = _Maker()
    steps = tuple(one for entry in entries for one in maker.steps(entry))
    return Sequence(
        name=name,
        doc=f"Made from {len(entries)} calls of a journal.",
        parameters=tuple(maker.parameters.values()),
        steps=steps,
    )


class _Maker:
    def __init__(self) -> None:
        self.parameters: dict[str, Parameter] = {}
        self.known: dict[str, str] = {}  # id -> reference path
        self.settled: set[str] = set()
        self.counts: dict[str, int] = {}

    def steps(self, entry: Any) -> Iterator[Step]:
        operation = OPERATIONS[entry.operation]
        name = self._name(entry.operation)
        arguments = self._arguments(operation.request, entry.request, name)
        transaction = entry.request.get("transactionId")
        if (
            entry.operation == "simulate_refund"
            and str(entry.outcome) == "done"
            and transaction in self.known
            and transaction not in self.settled
        ):
            self.settled.add(transaction)
            yield Step(
                name=self._name("settle"),
                do="settle",
                arguments={"transaction_id": Ref(self.known[transaction])},
                doc="Put in: a refund needs a settled transaction.",
            )
        expect = NOTHING
        if str(entry.outcome) == "refused":
            expect = Expect(error={"status": entry.status})
        elif isinstance(entry.answer, Mapping) and "status" in entry.answer:
            expect = Expect(result={"status": entry.answer["status"]})
        yield Step(name=name, do=entry.operation, arguments=arguments, expect=expect)
        if isinstance(entry.answer, Mapping):
            for path, value in _ids(operation.answer, entry.answer):
                self.known.setdefault(value, f"{name}.{path}")

    def _name(self, operation: str) -> str:
        word = operation.removeprefix("simulate_").replace("_", " ")
        self.counts[word] = self.counts.get(word, 0) + 1
        return word if self.counts[word] == 1 else f"{word} {self.counts[word]}"

    def _arguments(self, cls: type[Any], request: Mapping[str, Any], step: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for one in walk.members(cls):
            value = request.get(one.wire)
            if value is None:
                if isinstance(one.kind, walk.Integer) and one.kind.full:
                    made[one.name] = FULL
                continue
            inner = walk.record_of(one.kind)
            if inner is not None and isinstance(value, Mapping):
                made[one.name] = self._arguments(inner, value, f"{step} {one.name}")
            elif isinstance(value, str) and masks.MASK in value:
                made[one.name] = self._parameter(one, step)
            elif isinstance(value, str) and value in self.known:
                made[one.name] = Ref(self.known[value])
            else:
                made[one.name] = value
        return made

    def _parameter(self, one: walk.Member, step: str) -> Param:
        name = one.name
        if name in self.parameters and self.parameters[name].doc != one.about.doc:
            name = f"{step}_{name}".replace(" ", "_")
        kind = "date" if isinstance(one.kind, walk.Date) else "text"
        self.parameters[name] = Parameter(name=name, type=kind, doc=one.about.doc)
        return Param(name)


def _ids(cls: type[Any], answer: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for one in walk.members(cls):
        value = answer.get(one.wire)
        if isinstance(value, str) and UUID.fullmatch(value):
            yield one.name, value
