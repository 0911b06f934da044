"""The main job as a short guided tour: every step calls the API, on a sandbox inside this process."""

from typing import Any

__all__ = ["tour"]


def __getattr__(name: str) -> Any:
    if name == "tour":
        from workbench.demo.chapters import tour

        return tour
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
