"""A client, session or inbox that is no longer referenced closes its files and sockets without a warning."""

import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import asyncio, gc, os, sys
import workbench as wb
from workbench.client.calls.client import AsyncClient, Client

folder, url = sys.argv[1:]
def client(of=Client, **how):
    return of(base_url=url + "/v1", api_key=key, journal=folder + "/journal.db", **how)
key = wb.connect(url).sandbox.guide()["api_keys"]
key = next(iter(key.values()))
gc.collect()
def opened():
    return len(os.listdir("/proc/self/fd"))
before = opened()
def check():
    gc.collect()
    left = opened() - before
    assert left <= 0, f"{left} files or sockets are left open"
"""
USES = {
    "client": "api = client(); api.list_contracts(); api.journal.unknown()",
    "views": "api = client().allowing(again=True); api.list_contracts()",
    "session": "api = wb.connect(url); api.list_contracts(); api.inbox.events()",
    "sandbox in a file": "api = wb.connect(path=folder + '/s.db', seed=7); api.list_contracts(); api.inbox.events()",
    "sandbox in memory": "api = wb.connect(seed=7); api.list_contracts(); api.inbox.events()",
    "inbox": "api = wb.Inbox(folder + '/inbox.db', accept_unsigned=True); list(api.events())",
    "journal": "api = wb.Journal(folder + '/other.db'); list(api)",
    "a cycle": "api = client(); api.list_contracts(); api.itself = [api]",
    "a failed call": """
api = client()
try: api.list_rewards_activity(user_id='00000000-0000-4000-8000-000000000000')
except wb.errors.ApiError as error: pass
""",
}
AWAITED = """
def run(of):
    return asyncio.run(of, debug=False)  # which reports slow steps of a busy machine
async def main():
    {0}
    return api
async def dropped():
    global before
    before = opened()  # with what the loop needs itself
    api = await main()
    assert api
    del api
    gc.collect()
    await asyncio.sleep(0.05)
    await asyncio.sleep(0.05)
    check()
"""
ASYNC = {
    "client": "api = client(AsyncClient); await asyncio.gather(*[api.list_contracts() for _ in range(3)])",
    "session": "api = await wb.connect_async(url); await api.list_contracts()",
    "a cycle": "api = client(AsyncClient); await api.list_contracts(); api.itself = [api]",
}


def run(script: str, folder: Path, url: str) -> None:
    """Run a script in which every warning is an error, even one that cannot be caught."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", BEGIN + script, str(folder), url],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def url() -> object:
    from workbench.sandbox import Sandbox

    with Sandbox(seed=7).serve() as url:
        yield url


ENDS = {
    "dropped": "del api; check()",
    "dropped in an error's frame": "api = None; check()",
    "at exit": "kept = [*globals().get('kept', ()), api]",
    "in another thread": "import threading; t = threading.Thread(target=lambda: globals().pop('api')); t.start(); t.join(); check()",
    "forked": """
pid = os.fork()
if not pid:
    gc.collect(); del api; gc.collect(); sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
getattr(api, 'list_contracts', list)()
del api; check()
""",
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="looks into /proc")
@pytest.mark.parametrize("end", ["at exit", ""])
def test_what_is_dropped_is_closed(end: str, tmp_path: Path, url: str) -> None:
    """Clients, sessions, sandboxes, inboxes and journals are closed, one after another in one process."""
    ends = [ENDS[end]] if end else [way for name, way in ENDS.items() if name != "at exit"]
    run("\n".join(f"{use}\n{way}" for way in ends for use in USES.values()), tmp_path, url)


ASYNC_ENDS = {
    "dropped in the loop": "run(dropped())",
    "with the loop": "api = run(main()); del api; check()",
    "at exit": "kept = [*globals().get('kept', ()), run(main())]",
    "in two loops": "api = run(main()); run(main()); del api; check()",
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="looks into /proc")
@pytest.mark.parametrize("end", ["at exit", ""])
def test_what_is_awaited_ends_with_its_loop(end: str, tmp_path: Path, url: str) -> None:
    """Asynchronous clients and sessions are closed, one after another in one process."""
    ends = [ASYNC_ENDS[end]] if end else [way for name, way in ASYNC_ENDS.items() if name != "at exit"]
    run("\n".join(f"{AWAITED.format(use)}\n{way}" for way in ends for use in ASYNC.values()), tmp_path, url)
