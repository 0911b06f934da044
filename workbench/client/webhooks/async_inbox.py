"""The inbox of an async session."""

import threading
from collections.abc import Coroutine
from typing import Any, Unpack, overload

from workbench.base.arguments import hide_arguments
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
    @hide_arguments
    async def wait(
        self,
        kind: str | None = None,
        where: Where | None = None,
        timeout: float = 10.0,  # noqa: ASYNC109 - as in `Inbox.wait`
        *,
        since: Since = None,
        clock: object = None,
    ) -> Any:
        """Return the newest matching event, or wait for a matching event without blocking the event loop.

        Arguments and errors are the same as for `Inbox.wait`.
        """
        import asyncio  # imported only where an event loop runs

        ended = threading.Event()
        try:
            return await asyncio.to_thread(self._wait, kind, where, timeout, since, clock, ended)
        finally:
            ended.set()  # a canceled wait ends its thread, for which the end of the event loop waits
