"""A simulated card issuing service in this process: all operations, a seeded world, a clock that only controls move."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.http_post import Request as Request
    from workbench.http_post import Response as Response
    from workbench.sandbox.embedded import Sandbox as Sandbox

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
