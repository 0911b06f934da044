"""The inbox of an async session."""

from collections.abc import Coroutine
from typing import Any, Unpack, overload

from workbench.client.webhooks.inbox import Inbox, Since, WaitOptions
from workbench.client.webhooks.verify import Where
from workbench.service.interface.events import (
    AnyEvent,
    CardEvent,
    CardKind,
    DepositEvent,
    DepositKind,
    KindPattern,
    TransactionEvent,
    TransactionKind,
    UserEvent,
    UserKind,
)


class AsyncInbox(Inbox):
    """The inbox of an async session: only `wait` is a coroutine; all other methods are synchronous."""

    @overload  # type: ignore[override]
    def wait(
        self,
        kind: UserKind,
        where: Where | None = None,
        timeout: float = 10.0,
        **options: Unpack[WaitOptions],
    ) -> Coroutine[object, None, UserEvent]: ...
    @overload
    def wait(
        self,
        kind: DepositKind,
        where: Where | None = None,
        timeout: float = 10.0,
        **options: Unpack[WaitOptions],
    ) -> Coroutine[object, None, DepositEvent]: ...
    @overload
    def wait(
        self,
        kind: TransactionKind,
        where: Where | None = None,
        timeout: float = 10.0,
        **options: Unpack[WaitOptions],
    ) -> Coroutine[object, None, TransactionEvent]: ...
    @overload
    def wait(
        self,
        kind: CardKind,
        where: Where | None = None,
        timeout: float = 10.0,
        **options: Unpack[WaitOptions],
    ) -> Coroutine[object, None, CardEvent]: ...
    @overload
    def wait(
        self,
        kind: KindPattern | None = None,
        where: Where | None = None,
        timeout: float = 10.0,
        **options: Unpack[WaitOptions],
    ) -> Coroutine[object, None, AnyEvent]: ...
    def wait(
        self,
        kind: str | None = None,
        where: Where | None = None,
        timeout: float = 10.0,
        *,
        since: Since = None,
        clock: object = None,
    ) -> Any:
        """Return the newest matching event, or wait for a matching event without blocking the event loop.

        Arguments and errors are the same as for `Inbox.wait`.
        """
        import asyncio  # imported only where an event loop runs

        wait: Any = super().wait
        return asyncio.to_thread(wait, kind, where, timeout, since=since, clock=clock)
