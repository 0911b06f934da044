"""A process of an application in a universe: its event loop, sessions and databases, which end with the process."""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import attrs

from workbench.client.calls.messages import Broken, HttpRequest, HttpResponse
from workbench.client.session import AsyncSession, Session

Action = Callable[[], Any]


class ProcessKilled(BaseException):
    """The application's process has ended. Nothing that its code does afterwards has an effect."""


class _Connection:
    """A session whose calls go through a universe."""

    through: Callable[..., Awaitable[HttpResponse | Broken]]

    async def _transmit(self: Any, outgoing: HttpRequest) -> Any:
        return await self.through(outgoing, self._send_directly, self._pause)


class Connected(_Connection, Session):
    """Session of a synchronous application."""


class ConnectedAsync(_Connection, AsyncSession):
    """Session of an asynchronous application."""


class Cursor(sqlite3.Cursor):
    """Cursor whose statements may commit."""

    connection: "Database"

    def execute(self, sql: str, *parameters: Any) -> Any:
        return self.connection.guarded(sql, lambda: super(Cursor, self).execute(sql, *parameters), self)

    def executemany(self, sql: str, *parameters: Any) -> Any:
        return self.connection.guarded(sql, lambda: super(Cursor, self).executemany(sql, *parameters), self)


class Database(sqlite3.Connection):
    """Connection whose commits are possible crash points."""

    process: "Process"
    at_commit: Callable[[Action], None]

    def __del__(self) -> None:
        with suppress(sqlite3.Error):  # close what a killed application left open
            self.close()

    def cursor(self, *_: object) -> Any:
        self.process.check()
        return super().cursor(Cursor)

    def execute(self, sql: str, *parameters: object) -> Any:
        return self.cursor().execute(sql, *parameters)

    def executemany(self, sql: str, *parameters: object) -> Any:
        return self.cursor().executemany(sql, *parameters)

    def guarded(self, sql: str, run: Action, result: object) -> Any:
        """Run a statement. A statement that commits implicitly counts as a commit."""
        self.process.check()
        first = sql.lstrip()[:8].upper()
        by_itself = self.isolation_level is None and not self.in_transaction and first.startswith(_WRITES)
        if first.startswith(("COMMIT", "END")) or by_itself:
            self.at_commit(run)
        else:
            run()
        return result

    def commit(self) -> None:
        self.process.check()
        if self.in_transaction:
            self.at_commit(super().commit)

    def __exit__(self, kind: object, *rest: object) -> Any:
        if kind is None:
            self.commit()
        elif not self.process.dead:
            self.rollback()
        return False


_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")


@attrs.define(eq=False)
class Process:
    """One process of the application, from its start to its crash."""

    loop: Any = None
    dead: bool = False
    application: Any = None
    databases: list[Database] = attrs.field(factory=list)

    def check(self) -> None:
        """Raise ProcessKilled if the process was killed."""
        if self.dead:
            raise ProcessKilled

    def end(self) -> None:
        """Drop pending work, roll back open transactions and close the databases."""
        self.loop.dispose()
        for database in self.databases:
            with suppress(sqlite3.ProgrammingError):  # the application may have closed the database
                sqlite3.Connection.rollback(database)
            database.close()
        self.databases.clear()
