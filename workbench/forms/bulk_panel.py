"""Bulk writes in the background of a notebook."""

import os
from pathlib import Path
from typing import Any

from workbench import bulk, rendering
from workbench.errors import InvalidArguments
from workbench.forms.widgets import sentence
from workbench.forms.work import Work
from workbench.progress import ProgressCallback


def panel(call: Any, rows: Any, *, path: str | os.PathLike[str], **options: Any) -> Work:
    """Send one call for each row, as `bulk.run`, in the background: with a progress bar, and buttons to stop and resume.

    Args:
        call: An operation of a client, as `api.create_user_application`.
        rows: As for `bulk.run`.
        path: File in which outcomes are stored, so that the run can be resumed after a stop or a crash.
        options: Further options of `bulk.run`, as `workers` or `confirm`.

    Raises:
        InvalidArguments: `progress` is given.
    """
    if "progress" in options:
        raise InvalidArguments("bulk.panel() shows the progress itself", of="panel")
    name, kept = call.operation.name, Path(path)

    def run(progress: ProgressCallback, _: Any) -> Any:
        if kept.exists():
            return bulk.resume(kept, call.client, rows, progress=progress, **options)
        return bulk.run(call, rows, path=kept, progress=progress, **options)

    title = f"{sentence(rendering.label(name))}, in bulk"
    return Work(f"bulk {name}", title, call.client, run, resumable=lambda _: kept.exists())
