"""`workbench sandbox serve`: a sandbox over HTTP on this machine, for other programs and languages."""

import sys
import threading
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from workbench.faces.screen import screen_of
from workbench.terminal.ends import DONE, say


def serve(
    *,
    port: Annotated[int, Parameter(help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    db: Annotated[Path | None, Parameter(help="Keep its state in this file; in memory where left out.")] = None,
    own: Annotated[
        bool, Parameter(help="Serve the sandbox that commands act on.", negative="", show_default=False)
    ] = False,
    seed: Annotated[int, Parameter(help="Seed of a new world.")] = 1,
    environment: Annotated[Literal["sandbox", "production"], Parameter(help="What it says it is.")] = "sandbox",
    behaviour: Annotated[
        Literal["documented", "observed"], Parameter(help="What it does where the document is silent.")
    ] = "documented",
) -> int:
    """Serve a sandbox over HTTP, for other programs. Ctrl-C ends it."""
    from workbench.sandbox import Sandbox
    from workbench.sandbox.file_store import FileBackend
    from workbench.sandbox.store import Store
    from workbench.terminal.keeping import kept_path

    path = kept_path() if own else db
    store = Store(FileBackend(path)) if path is not None else None
    sandbox = Sandbox(seed=seed, environment=environment, profile=behaviour, store=store)
    with sandbox.serve(port=port) as url:
        print(screen_of(sys.stdout).fit(url), flush=True)
        say(f"A sandbox ({environment}, {behaviour}) answers there. Act on it with --url {url}; Ctrl-C ends it.")
        threading.Event().wait()
    return DONE
