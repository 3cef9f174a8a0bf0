"""langchain-mcp-adapters."""

import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient


async def main(url: str) -> None:
    client = MultiServerMCPClient({"zoo": {"transport": "streamable_http", "url": url}})
    tools = await client.get_tools()
    shown = next(tool for tool in tools if tool.name == "find_elements")
    call = {"name": "find_elements", "args": {"family": "noble gas"}, "id": "1", "type": "tool_call"}
    message = await shown.ainvoke(call)
    async with client.session("zoo") as session:
        listed = (await session.list_tools()).tools
        uri = next(tool for tool in listed if tool.name == "find_elements").meta["ui"]["resourceUri"]
    pages = await client.get_resources("zoo", uris=uri)
    artifact = message.artifact
    told = {
        "tools": [tool.name for tool in tools],
        "structured": artifact["structured_content"] if isinstance(artifact, dict) else str(artifact),
        "widget": pages[0].as_string(),
    }
    print(json.dumps(told))


asyncio.run(main(sys.argv[1]))
