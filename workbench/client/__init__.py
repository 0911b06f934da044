"""One call, sent: the checked client, its journal, and reads of answers that came elsewhere."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.client.client import AsyncClient as AsyncClient
    from workbench.client.client import Client as Client
    from workbench.client.guards import Limits as Limits
    from workbench.client.journal import Journal as Journal

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
