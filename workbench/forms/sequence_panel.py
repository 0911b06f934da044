"""Sequences in the background of a notebook."""

import os
from pathlib import Path
from typing import Any

from workbench import sequences
from workbench.forms.work import Work
from workbench.progress import ProgressCallback


def panel(sequence: sequences.Sequence, api: Any, *, path: str | os.PathLike[str], **values: Any) -> Work:
    """Run a sequence, as `sequences.run`, in the background: with a progress bar, and buttons to stop and resume.

    Args:
        sequence: From Python, a file, the catalogue or forms.
        api: A session.
        path: File in which the outcomes of steps are stored, so that the run can be resumed after a stop or a crash.
        values: The parameters of the sequence; also `resolved` of `run`.
    """
    kept = Path(path)

    def run(progress: ProgressCallback, _: Any) -> Any:
        return sequences.run(sequence, api, path=kept, progress=progress, **values)

    name = f"sequence {sequence.name}"
    return Work(name, f"Run {sequence.name}", api, run, resumable=lambda _: kept.exists())
