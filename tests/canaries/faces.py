"""More places to search, like `places.PLACES`: screens, agents, recordings, a class, drills, queries, evidence and spans."""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

import workbench as wb
from tests.canaries.conftest import Life
from tests.canaries.places import Place, widgets
from tests.canaries.planted import ACCOUNT, BUSINESS, CHANGES, OWNER, PERSON
from tests.client.doubles import client_on
from workbench import testing
from workbench.analysis.reports.queries import SESSION
from workbench.client.calls.client import Client
from workbench.course.classroom import ClassServer, exports
from workbench.course.task_files import DRILLS, EXERCISES
from workbench.testing.agent_tools import make_server

WRONG: dict[str, Any] = {**PERSON, "national_id": "000771293x", "email": "zqmail@"}


def _wire(values: dict[str, Any]) -> dict[str, Any]:
    """Return arguments by wire name."""

    def camel(name: str) -> str:
        first, *rest = name.split("_")
        return first + "".join(part.title() for part in rest)

    return {camel(name): _wire(one) if isinstance(one, dict) else one for name, one in values.items()}


def _people(api: Any) -> str:
    """Create people with planted values in a sandbox, and return the id of one user."""
    user = str(api.create_user_application(**PERSON).id)
    api.update_user(user_id=user, **CHANGES)
    api.create_payment_account(user_id=user, **ACCOUNT)
    api.create_payment_account(user_id=user, **BUSINESS)
    company = api.sandbox.guide()["companies"][0]
    owner = next(one["id"] for one in company["owners"] if one["status"] == "needsInformation")
    api.update_ubo(company_id=company["id"], ubo_id=owner, **OWNER)
    api.update_dispute(dispute_id=api.sandbox.guide()["disputes"]["pending"][0], text_evidence="Zqevidence of it")
    api.sandbox.deposit(amount="1.77", description="ZQMEMO", originator_name="Zqoriginator")
    for attempt in (WRONG, {**PERSON, "zq-unknown": "zq-unknown-member"}):
        try:
            api.create_user_application(**attempt)
        except (wb.WorkbenchError, TypeError):
            continue
    return user


# screens


def _overview(_: Life, folder: Path) -> Iterator[str]:
    """Yield the overview of a year with the rewards of a user, and the panel as a document."""
    with wb.connect(seed=7) as api:
        _people(api)
        shown = wb.browse(api)
        shown.rewards.show(api.sandbox.guide()["rewards_users"][0]["id"])
        for part in ("attention", "tiles", "charts"):
            yield json.dumps(shown.answer({"do": "overview", "part": part, "filters": {"range": "year"}}))
        for name in ("users", "payment accounts", "disputes", "events", "requests", "transactions"):
            shown.open(name)
        yield from (repr(shown), shown.html, shown.document(), widgets())


# agents


def _agent(_: Life, __: Path) -> list[str]:
    import mcp

    texts: list[str] = []

    async def talk(api: Any) -> None:
        async with mcp.Client(make_server(api)) as client:

            async def call(name: str, tool: str = "call", **arguments: Any) -> Any:
                answer = await client.call_tool(tool, {"name": name, "arguments": arguments})
                texts.extend(one.text for one in answer.content)
                return answer

            company = api.sandbox.guide()["companies"][0]
            owner = next(one["id"] for one in company["owners"] if one["status"] == "needsInformation")
            made = await call("create_user_application", **_wire(PERSON))
            user = json.loads(made.content[0].text)["id"]
            await call("update_user", userId=user, **_wire(CHANGES))
            await call("create_payment_account", userId=user, **_wire(ACCOUNT))
            await call("update_ubo", companyId=company["id"], uboId=owner, **_wire(OWNER))
            await call("create_user_application", **_wire(WRONG))
            await call("create_user_application", **_wire(PERSON), zqUnknown="zq-unknown-member")
            await call("deposit", "control", amount="1.77", description="ZQMEMO", originatorName="Zqoriginator")
            for control in ("guide", "events", "requests", "deliveries"):
                await call(control, "control")
            await call("state", "control", recordId=user)

    with wb.connect(seed=8) as api:
        asyncio.run(talk(api))
    return texts


# finished calls


def _recordings(_: Life, folder: Path) -> Iterator[str]:
    path = folder / "calls.ndjson"
    with wb.connect(seed=9) as api:
        with testing.record(api, path):
            _people(api)
            api.list_contracts()
        yield path.read_text()
    corpus = testing.Corpus(folder / "corpus")
    corpus.add(path)
    yield from (file.read_text() for file in corpus.folder.glob("*.*") if not file.name.startswith("."))
    yield from (str(corpus.check("observed")), wb.learn(corpus.folder).to_toml())


def _spans(_: Life, __: Path) -> list[str]:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    collected = InMemorySpanExporter()
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):  # OpenTelemetry accepts only one provider per process
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(collected))
    with wb.connect(seed=9) as api:
        _people(api)
    wrong = client_on(lambda _: httpx.Response(400, json={"message": f"wrong: {PERSON['email']}"}))
    with wrong as api, contextlib.suppress(wb.ApiError):
        api.create_user_application(**PERSON)
    return [one.to_json() for one in collected.get_finished_spans()]


# classes, and learning from traffic


def _class(_: Life, folder: Path) -> Iterator[str]:
    server = ClassServer(["Ann", "Bob"], folder / "class")
    with server.serve() as url:
        for learner in server.learners:
            with wb.connect(f"{url}/{learner.code}") as api:
                _people(api)
                for exercise in list(EXERCISES)[::7]:
                    if not exercise.startswith("production"):
                        yield str(wb.course.task(exercise, api))
                        yield str(wb.course.check(exercise, api))
                yield str(wb.course.hint("start-1"))
        yield json.dumps(server.board())
        yield repr(server.learners)
        yield exports.results_table(server.results)
        yield exports.certificates(server.results)
    server.close()
    yield (folder / "class" / "class.db").read_bytes().decode("latin-1")


def _drills(_: Life, __: Path) -> Iterator[str]:
    for name in DRILLS:
        with wb.connect(seed=7) as api:
            _people(api)
            for shown in (wb.course.task(name, api), wb.course.check(name, api)):
                yield from (str(shown), repr(shown), shown._repr_html_())


# queries and evidence


def _sql(life: Life, _: Path) -> Iterator[str]:
    with wb.connect(seed=7) as api:
        _people(api)
        for table in SESSION:
            if table != "rewards":  # a table of ten thousand rows without planted values
                found = wb.sql(f"select * from {table}", api)
                yield from (found.to_string(), repr(found.to_dict()), repr(found.attrs))
    people = wb.sql("select * from people", people=[life.things["application"], life.things["update"]])
    yield people.to_string()
    try:
        wb.sql("select cast(first_name as integer) from people", people=[life.things["application"]])
    except ValueError as error:
        yield str(error)


def _evidence(_: Life, folder: Path) -> Iterator[str]:
    with wb.connect(seed=3) as api:
        inner, calls = api.sandbox.transport(), 0

        def handle(request: httpx.Request) -> httpx.Response:
            nonlocal calls
            calls += 1
            if calls == 2:
                inner.handle_request(request)
                raise httpx.ReadTimeout("late")
            return inner.handle_request(request)

        other = Client(
            base_url=api.sandbox.base_url, api_key=api.sandbox.full_key, transport=httpx.MockTransport(handle),
            journal=api.journal,
        )  # fmt: skip
        rows = [{**PERSON, "email": f"zqmail{i}@example.com", "external_id": f"b-{i}"} for i in range(3)]
        result = wb.bulk.run(
            other.create_user_application, rows, path=folder / "run", key="external_id", progress=False
        )
        found = wb.bulk.investigate(api, result)
        yield from (
            repr(found),
            str(found),
            repr(list(found)),
            wb.to_frame(found).to_string(),
            repr(result),
            str(result),
        )
        for entry in api.journal.unknown():
            yield repr(api.journal.evidence(entry.id))
            yield str(api.journal.evidence(entry.id))


FACES: dict[str, Place] = {
    "the overview": Place(_overview, "Approval rate", slow=True),
    "answers to an agent": Place(_agent, "approved"),
    "recordings and exports of calls": Place(_recordings, "create_user_application"),
    "spans": Place(_spans, "create_user_application"),
    "a class": Place(_class, "start-1", slow=True),
    "drills": Place(_drills, "duplicate-bookings", slow=True),
    "SQL": Place(_sql, "create_user_application"),
    "evidence": Place(_evidence, "look"),
}
