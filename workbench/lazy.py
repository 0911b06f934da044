"""Public names that are loaded when they are first used, and written once: in the `if TYPE_CHECKING:` block of a package.

    if TYPE_CHECKING:
        from workbench.client.client import Client as Client

    __getattr__, __dir__ = public_names(__name__, __file__)

Type checkers read that block as imports; this module reads it as text, so that nothing is imported before its first use.
"""

import sys
from collections.abc import Callable


def public_names(package: str, file: str) -> "tuple[Callable[[str], object], Callable[[], list[str]]]":
    """Return the `__getattr__` and the `__dir__` of a package whose public names are listed in its TYPE_CHECKING block.

    Args:
        package: The `__name__` of the package.
        file: Its `__file__`; each name stands there on a line `from MODULE import NAME as PUBLIC_NAME`.
    """
    places: dict[str, tuple[str, str]] = {}
    with open(file, encoding="utf-8") as source:  # noqa: PTH123 - pathlib would cost more than all the rest
        for line in source:
            words = line.split()
            if line.startswith("    from workbench") and len(words) >= 6 and words[2] == "import" and words[4] == "as":
                places[words[5]] = words[1], words[3]

    # IPython calls its two hooks by name; people do not.
    public = sorted(name for name in places if not name.endswith("_ipython_extension"))

    def load(name: str) -> object:
        from importlib import import_module

        if name == "__all__":
            return public
        if name not in places:
            from workbench.renamed import renamed

            new = renamed(f"{package.replace('workbench', 'wb', 1)}.{name}")
            raise AttributeError(f"module {package!r} has no attribute {name!r}{new}")
        module, attribute = places[name]
        if module == "workbench":
            loaded: object = import_module(f"workbench.{attribute}")
        else:
            loaded = getattr(import_module(module), attribute)
        if hasattr(loaded, "__code__"):
            from workbench import errors

            if loaded.__code__.co_filename != errors.__file__:  # not needed between the files of a package
                loaded = errors.hide_arguments(loaded)  # type: ignore[arg-type]
        setattr(sys.modules[package], name, loaded)
        return loaded

    return load, lambda: public
