"""Work through a queue of purchases, several at once: `python examples/async_worker.py < purchases.ndjson`.

Each line contains the arguments of `simulate_authorization`. Each purchase is sent at most once. Purchases with an
unknown outcome are listed at the end and stay in the journal. After SIGTERM or Ctrl-C, only calls in flight end.
"""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

import workbench as wb


async def purchase(api: wb.AsyncSession, arguments: dict[str, Any]) -> str:
    """Send one purchase, and return its outcome."""
    try:
        await api.simulate_authorization(**arguments)
    except wb.ApiError as error:
        print(f"refused with {error.status}: {error.message}", file=sys.stderr)
        return "refused"
    except (wb.InvalidRequest, wb.NotSent) as error:
        print(f"not sent: {error}", file=sys.stderr)
        return "not_sent"
    except wb.OutcomeUnknown:
        return "unknown"
    return "done"


async def work(api: wb.AsyncSession, lines: Iterable[str], workers: int = 4) -> Counter[str]:
    """Send all purchases, at most `workers` at once, and return the number of purchases by outcome."""
    queue: asyncio.Queue[str] = asyncio.Queue()
    for line in lines:
        queue.put_nowait(line)
    outcomes: Counter[str] = Counter()
    stopping = asyncio.Event()

    async def worker() -> None:
        while not stopping.is_set() and not queue.empty():
            outcomes[await purchase(api, json.loads(queue.get_nowait()))] += 1

    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stopping.set)
    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(worker())
    if not queue.empty():
        outcomes["left"] = queue.qsize()
    return outcomes


async def main() -> int:
    """Work through standard input; return 0 if every purchase is done."""
    path, journal = os.environ.get("SANDBOX"), os.environ.get("JOURNAL")
    async with await wb.connect_async(os.environ.get("WORKBENCH_PROFILE"), path=path, journal=journal) as api:
        outcomes = await work(api, sys.stdin)
        for outcome, count in sorted(outcomes.items()):
            print(f"{outcome}: {count}")
        for entry in api.journal.unknown():
            print(f"unknown: {entry.id}")
    return 0 if set(outcomes) <= {"done"} else 4 if outcomes["unknown"] else 5


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
