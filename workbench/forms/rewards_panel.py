"""Reads of rewards in the background of a notebook."""

from typing import Any

import attrs

from workbench.errors import InvalidArguments
from workbench.forms.widgets import line
from workbench.forms.work import Work
from workbench.progress import Progress, ProgressCallback
from workbench.tables.rewards import read


def panel(api: Any, users: Any, **options: Any) -> Work:
    """Read rewards, as `rewards.read`, in the background: with a progress bar, and buttons to stop and resume.

    `wait()` waits for it, and `result` is what was read.

    Args:
        api: A Client or a session.
        users: As for `rewards.read`.
        options: Further options of `rewards.read`, as `type`, `since` or `concurrency`.

    Raises:
        InvalidArguments: `progress` or `resume` is given.
    """
    if options.keys() & {"progress", "resume"}:
        raise InvalidArguments("rewards.panel() shows the progress and resumes itself", of="panel")

    def run(progress: ProgressCallback, before: Any) -> Any:
        had = 0 if before is None else len(before.users) - len(before.unfinished)  # users that were read

        def report(leg: Progress) -> None:
            progress(attrs.evolve(leg, total=leg.total + had, done=leg.done + had))

        return read(api, users, progress=report, resume=before, **options)

    def unfinished(rewards: Any) -> bool:
        return rewards is not None and bool(rewards.unfinished)

    return Work(
        "rewards", "Read rewards", api, run, resumable=unfinished, unfinished=unfinished, describe=_described
    )  # fmt: skip


def _described(rewards: Any) -> str:
    complete = "Complete: every row that the service returns was read."
    rest = "Resume reads the rest."
    notes = [*([complete] if rewards.complete else []), *rewards.notes[:8], *([rest] if rewards.unfinished else [])]
    return "".join(line("quiet", note) for note in notes)
