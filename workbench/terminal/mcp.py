"""`workbench mcp`: tools for coding agents, over standard input and output."""

import asyncio

from workbench.terminal.exits import DONE, say
from workbench.terminal.where import Where, session

_WHERE = Where()


def mcp(*, where: Where = _WHERE) -> int:
    """Serve operations, controls, sequences and rules as tools and resources, over standard input and output.

    Without options it acts on your own sandbox. A production profile needs --live, effects an armed session, and each of them the
    confirmation of the person at the client.

    Example: workbench mcp --fresh
    """
    from workbench import mcp_server

    with session(where) as api:
        say(f"Serving {api.environment} at {api.host} by the Model Context Protocol; end it by closing its input.")
        asyncio.run(mcp_server.serve(api))
    return DONE
