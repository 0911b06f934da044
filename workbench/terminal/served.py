"""`workbench sandbox serve`: a sandbox over HTTP on this machine, for other programs and languages."""

import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from workbench.rendering.screen import screen_of
from workbench.terminal.ends import DONE, INTERRUPTED, STOPPED, Exit, Stopped, say


def serve(
    *,
    port: Annotated[int, Parameter(help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    db: Annotated[Path | None, Parameter(help="Keep its state in this file; in memory where left out.")] = None,
    own: Annotated[
        bool, Parameter(help="Serve the sandbox that commands act on.", negative="", show_default=False)
    ] = False,
    seed: Annotated[int | None, Parameter(help="Seed of a new world; 1 where left out.")] = None,
    environment: Annotated[Literal["sandbox", "production"] | None, Parameter(help="What it says it is.")] = None,
    behavior: Annotated[
        Literal["documented", "observed"] | None, Parameter(help="Behavior where the interface document is silent.")
    ] = None,
    outside: Annotated[
        bool,
        Parameter(
            name="--public-webhooks", help="Let webhooks go to public addresses too.", negative="", show_default=False
        ),
    ] = False,
) -> int:
    """Serve a sandbox over HTTP, for other programs. Ctrl-C ends it."""
    from workbench.sandbox import Sandbox
    from workbench.sandbox.server import introduction
    from workbench.terminal.keeping import kept_path

    path = kept_path() if own else db
    made = Sandbox(seed=seed, environment=environment, behavior=behavior, path=path, public_webhooks=outside)
    with closing(made) as sandbox, sandbox.serve(port=port) as url:
        print(screen_of(sys.stdout).fit(url), flush=True)
        for line in (*introduction(sandbox, url), f"Act on it with --url {url}."):
            say(line)
        try:
            threading.Event().wait()
        except (KeyboardInterrupt, Stopped) as end:
            code = STOPPED if isinstance(end, Stopped) else INTERRUPTED
            raise Exit(code, f"Ended. {_left(path)}") from None
    return DONE


def _left(path: Path | None) -> str:
    if path is None:
        return "Its state was in memory, and is gone; --db FILE keeps one."
    return f"Its state is kept in {screen_of(sys.stderr).fit(str(path))}."
