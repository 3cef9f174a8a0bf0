"""fastmcp 4."""

import asyncio
import json
import sys

from fastmcp import Client


async def main(url: str) -> None:
    async with Client(url) as client:
        tools = await client.list_tools()
        shown = next(tool for tool in tools if tool.name == "find_elements")
        result = await client.call_tool("find_elements", {"family": "noble gas"})
        page = await client.read_resource(shown.meta["ui"]["resourceUri"])
        told = {
            "tools": [tool.name for tool in tools],
            "structured": result.structured_content,
            "widget": page[0].text,
        }
        print(json.dumps(told))


asyncio.run(main(sys.argv[1]))
