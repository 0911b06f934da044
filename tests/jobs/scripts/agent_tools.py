"""Let an agent describe, call and control with tools.

Needs: agents.
"""

import asyncio
import json

import mcp

import workbench as wb
from workbench.testing.agent_tools import make_server


async def talk(api):
    async with mcp.Client(make_server(api)) as client:
        tools = (await client.list_tools()).tools
        assert len(tools) <= 20
        answer = await client.call_tool("call", {"name": "list_contracts", "arguments": {}})
        return json.loads(answer.content[0].text)


with wb.connect() as api:
    assert asyncio.run(talk(api))
