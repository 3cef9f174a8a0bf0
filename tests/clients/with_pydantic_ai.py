"""pydantic-ai."""

import asyncio
import json
import sys

from pydantic_ai.mcp import MCPToolset


async def main(url: str) -> None:
    toolset = MCPToolset(url)
    async with toolset:
        tools = await toolset.list_tools()
        shown = next(tool for tool in tools if tool.name == "find_elements")
        structured = await toolset.direct_call_tool("find_elements", {"family": "noble gas"})
        uri = (shown.meta or {})["ui"]["resourceUri"]
        told = {
            "tools": [tool.name for tool in tools],
            "structured": structured,
            "widget": await toolset.read_resource(uri),
        }
        print(json.dumps(told, default=str))


asyncio.run(main(sys.argv[1]))
