"""Names of earlier versions and their replacements, which renamed.toml lists."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn


@cache
def replacements() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the replacements of names, and the types that were public in earlier versions by namespace."""
    import tomllib  # only a message about a former name needs it

    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def renamed(name: str) -> str:
    """Return the replacement of a name of an earlier version as the end of a message; empty for other names."""
    _, _, rest = name.partition("wb.")
    space, _, member = rest.partition(".")
    former = replacements()
    if member in former["types"].get(space, ()):
        return "; since 0.3 the types of requests and results are private: call the function that takes or returns it"
    return f"; it is now {former['names'][name]}" if name in former["names"] else ""


def former_members(article: str, name: str) -> Callable[[object, str], NoReturn]:
    """Return the `__getattr__` of a class: it names what replaced a member of an earlier version.

    Args:
        article: What precedes the name in a message: "a" or "an".
        name: An object of the class, as in renamed.toml: "journal".
    """

    def refuse(self: object, member: str) -> NoReturn:
        shown = {"api": "session"}.get(name, name)
        message = f"{article} {shown} has no {member}{renamed(f'{name}.{member}')}"
        raise AttributeError(message, name=member, obj=self)

    return refuse
