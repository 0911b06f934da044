"""One call as a generator that performs no I/O: what to send is yielded, what came back is sent in.

A call ends in an answer or an error, and a call with an effect in one of four ends (`effects.Outcome`). Reads are tried up
to three times; a call with an effect is sent again only where it provably never left.
"""

from collections.abc import Collection, Generator
from typing import Any

from workbench.client.advice import advise
from workbench.client.call import Call
from workbench.client.effects import Outcome
from workbench.client.line import ClientContext
from workbench.client.messages import Broken, Pause, Request
from workbench.client.pace import LONGEST_WAIT
from workbench.client.pasted import pasted_keys
from workbench.errors import InvalidRequest, Problem
from workbench.interface import checks, strict_json
from workbench.interface.operation import Operation
from workbench.interface.table import SIGN_WITHDRAWAL
from workbench.interface.walk import members

Exchange = Generator[Request | Pause, Any, Any]


def wrong(
    operation: Operation[..., Any], request: Any, line: ClientContext, allowing: Collection[str]
) -> tuple[Problem, ...]:
    """Return all for which a request is refused; where there is nothing, warn of what looks wrong."""
    refused, warned = checks.cautions(request, allowing)
    if line.check:
        problems = (*checks.problems(request, partial="partial_address" in allowing), *refused)
    else:  # what the service says to a wrong request may be seen, but an id still has to fit into a path
        problems = (*_unsendable(operation, request), *refused)
    if pasted := pasted_keys(request):
        paths = {problem.path for problem in pasted}
        problems = (*pasted, *(problem for problem in problems if problem.path not in paths))
    if problems:
        return problems
    for problem in warned:
        if not line.guards.real and problem.path.endswith("nationalId"):
            continue  # a number that was never issued is what a sandbox should get
        advise(f"{operation.name}: {problem}")
    return ()


def _unsendable(operation: Operation[..., Any], request: Any) -> tuple[Problem, ...]:
    fields = {one.wire for one in members(type(request)) if "{" + one.wire + "}" in operation.path}
    return tuple(problem for problem in checks.problems(request) if problem.rule == "text" or problem.path in fields)


def encode(operation: Operation[..., Any], request: Any, line: ClientContext) -> Request:
    """Return what to send for a request that was checked."""
    __tracebackhide__ = True
    failure: Problem
    try:
        path, body = line.converter.write_request(operation, request)
        target = operation.target(path, body)
        if operation.in_query or operation.method == "DELETE":
            content, headers = None, line.read_headers
        else:
            content, headers = strict_json.dumps(body), line.write_headers
            headers = [*headers, (b"Content-Length", b"%d" % len(content))]
        if operation.name == SIGN_WITHDRAWAL.name:
            headers = [*headers, (b"Cache-Control", b"no-store")]  # an authorization is not kept by anybody on the way
        return Request(operation.method, operation.path, target, headers, content)
    except (TypeError, ValueError, OverflowError):
        failure = Problem("", "type", "holds a value that cannot be written as JSON")
    raise InvalidRequest((failure,), of=operation.name)  # outside the block: the chain would hold the values


def exchange(
    operation: Operation[..., Any],
    request: Any,
    line: ClientContext,
    allowing: Collection[str],
    resend_of: str | None = None,
) -> Exchange:
    """Check, record, send, retry reads, read the answer."""
    __tracebackhide__ = True
    if problems := wrong(operation, request, line, allowing):
        del request  # what is wrong may stand in the wrong place, where no mask is
        raise InvalidRequest(problems, of=operation.name)
    line.guards.check(operation, request)
    outgoing = encode(operation, request, line)
    call = Call(operation, request, line, allowing, resend_of)
    outgoing.clean = call.clean
    del request
    try:
        if operation.effect:
            call.record(outgoing)
        yield from _sending(call, outgoing)
        return call.answer
    finally:
        call.let_go()


def _sending(call: Call, outgoing: Request) -> Generator[Request | Pause, Any, None]:
    __tracebackhide__ = True
    line, effect = call.line, call.operation.effect
    clock, pace = line.clock, line.pace
    begun = clock.monotonic()
    deadline = begun + line.timeout if line.timeout is not None else float("inf")
    outgoing.deadline = call.deadline = deadline
    while True:
        now = clock.monotonic()
        longest = min(deadline - now, LONGEST_WAIT)
        wait = pace.wait(effect, now, longest)
        if wait > longest:
            call.not_sent(f"the service asked for a pause; try again in {wait:.0f} s")
        if wait > 0:
            try:
                yield Pause(wait)
            except BaseException:
                call.end(Outcome.NOT_SENT, error="interrupted before it was sent")
                raise
        call.tries += 1
        outgoing.phase, outgoing.status = 0, None
        try:
            outcome = yield outgoing
        except BaseException as error:
            call.interrupted(error, outgoing)
            raise
        pause = call.failed(outcome) if outcome.__class__ is Broken else call.answered(outcome)
        if pause is None:
            return
        if pause == 0:  # the pace has the pause
            continue
        if clock.monotonic() + pause > deadline:
            call.give_up(outcome)
        try:
            yield Pause(pause)
        except BaseException:
            call.end(Outcome.NOT_SENT, error="interrupted before it was sent again")
            raise
