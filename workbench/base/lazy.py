"""Load the public names of a namespace on first use.

    if TYPE_CHECKING:
        from workbench.client.calls.client import Client as Client

    _NAMES = {"Client": "workbench.client.calls.client"}

    if not TYPE_CHECKING:
        __getattr__, __dir__ = public_names(__name__, _NAMES)

Type checkers and editors read the imports, and Python reads the dictionary. `tests/test_packages.py` compares both.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = __name__ == "typing"
"""Replacement for `typing.TYPE_CHECKING` in modules that `import workbench` loads.

Importing `typing` takes longer than importing all these modules.
"""

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def public_names(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a namespace.

    Args:
        package: The `__name__` of the package.
        names: Module of each public name, such as "workbench.client.calls.client"; "module:name" if the module uses
            another name, "module:" if the public name is the module itself.
    """
    public = sorted(names)

    def load(name: str) -> object:
        from importlib import import_module

        if name == "__all__":
            return public
        if name not in names or sys._getframe(1).f_globals.get("__name__") == "freezegun.api":
            # freezegun reads every name of every module, which would import all packages while time is frozen.
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, colon, attribute = names[name].partition(":")
        loaded: object = import_module(module)
        if attribute or not colon:
            loaded = getattr(loaded, attribute or name)
        if hasattr(loaded, "__code__"):
            from workbench.base import arguments

            # wrap the function unless it is wrapped already
            if loaded.__code__.co_filename != arguments.__file__:
                loaded = arguments.hide_arguments(loaded)  # type: ignore[arg-type]
        setattr(sys.modules[package], name, loaded)
        return loaded

    return load, lambda: public
