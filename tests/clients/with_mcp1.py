"""The official client of the 1.x line."""

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


async def main(url: str) -> None:
    async with streamablehttp_client(url) as (read, write, _), ClientSession(read, write) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        shown = next(tool for tool in tools if tool.name == "find_elements")
        result = await session.call_tool("find_elements", {"family": "noble gas"})
        page = await session.read_resource(shown.meta["ui"]["resourceUri"])
        told = {
            "tools": [tool.name for tool in tools],
            "structured": result.structuredContent,
            "widget": page.contents[0].text,
        }
        print(json.dumps(told))


asyncio.run(main(sys.argv[1]))
