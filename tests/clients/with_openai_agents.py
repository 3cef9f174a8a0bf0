"""The OpenAI Agents SDK."""

import asyncio
import json
import sys

from agents.mcp import MCPServerStreamableHttp


async def main(url: str) -> None:
    async with MCPServerStreamableHttp({"url": url}) as server:
        tools = await server.list_tools()
        shown = next(tool for tool in tools if tool.name == "find_elements")
        result = await server.call_tool("find_elements", {"family": "noble gas"})
        page = await server.read_resource(shown.meta["ui"]["resourceUri"])
        dumped = result.model_dump(by_alias=True)
        told = {
            "tools": [tool.name for tool in tools],
            "structured": dumped["structuredContent"],
            "widget": page.contents[0].text,
        }
        print(json.dumps(told))


asyncio.run(main(sys.argv[1]))
