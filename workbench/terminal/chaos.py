"""`workbench chaos run`: prove that a webhook handler is right."""

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

from workbench.rendering.screen import screen_of
from workbench.terminal.events import KEY_VARIABLE
from workbench.terminal.exits import DONE, PARTLY, say
from workbench.terminal.options import App, Parameter

app = App(name="chaos", help="Prove that a webhook handler is right, under everything that goes wrong.")


@app.command
def run(
    *,
    handler: Annotated[str, Parameter(help="URL that takes deliveries.")],
    books: Annotated[str, Parameter(help="URL that returns JSON: cents by the id of the transaction.")],
    reset: Annotated[
        str | None,
        Parameter(help="URL that empties the books (POST); then what breaks is reduced to its shortest sequence."),
    ] = None,
    restart: Annotated[
        str, Parameter(help="Command that ends the handler and starts it again; without it, no crash.")
    ] = "",
    plan: Annotated[Path | None, Parameter(help="TOML file: purchases = 300, duplicates = 0.08 and so on.")] = None,
    seed: Annotated[int, Parameter(help="Random seed; it replays a verdict.")] = 7,
) -> int:
    """Send a month of traffic with duplicates, reordering, forgeries and a crash, and judge the handler's books.

    Deliveries are signed with the key in WORKBENCH_WEBHOOK_KEY, or `chaos-signing-key-1`. Exit code 5 if something broke.

    Example: workbench chaos run --handler http://127.0.0.1:8000/webhooks --books http://127.0.0.1:8000/books
    """
    from workbench import chaos

    chosen = chaos.Plan() if plan is None else chaos.load(plan)

    def make() -> chaos.HttpHandler:
        return chaos.HttpHandler(handler, books, reset, shlex.split(restart))

    def progress(done: int, of: int) -> None:
        if done % 500 == 0:
            say(f"{done:,} of {of:,} deliveries")

    key = os.environ.get(KEY_VARIABLE) or chaos.KEY
    verdict = chaos.run(make, plan=chosen, seed=seed, key=key, fresh=reset is not None, progress=progress)
    print(screen_of(sys.stdout).fit(str(verdict)))
    return DONE if verdict.passed else PARTLY
