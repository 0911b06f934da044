"""The main tasks as a walk-through: every step calls the API of an embedded sandbox."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.demo.walkthrough import tour as tour

if not TYPE_CHECKING:  # a type checker sees the name above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
