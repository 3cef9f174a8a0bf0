"""MCP by hand on Starlette: no SDK, one revision, plain JSON, and its own mind about errors."""

import os

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

PAGE = "<!doctype html><html><head><title>Clock</title></head><body><b id=clock></b></body></html>"
TOOL = {
    "name": "clock",
    "title": "Clock",
    "description": "Use this to see the time somewhere.",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
    "_meta": {
        "openai/outputTemplate": "ui://clock",
        "openai/widgetAccessible": True,
        "openai/toolInvocation/invoking": "Looking at the clock",
        "acme/own": [1, None, {"ä": 1.5}],
    },
}
RESOURCE = {"uri": "ui://clock", "name": "clock", "mimeType": "text/html+skybridge"}
META = {
    "openai/widgetDescription": "A clock.",
    "openai/widgetPrefersBorder": True,
    "openai/widgetCSP": {"connect_domains": ["https://time.example.com"], "resource_domains": []},
}


class Wrong(Exception):
    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


def answer(method: str, params: dict) -> dict:
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "by hand", "version": "0", "x": "kept"},
            }
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [TOOL]}
        case "resources/list":
            return {"resources": [RESOURCE]}
        case "resources/templates/list":
            return {"resourceTemplates": []}
        case "resources/read" if params.get("uri") == "ui://clock":
            return {"contents": [{**RESOURCE, "text": PAGE, "_meta": META}]}
        case "resources/read":
            raise Wrong(-32002, "no such thing", {"uri": params.get("uri")})
        case "tools/call" if params.get("name") == "clock":
            city = params.get("arguments", {}).get("city")
            if city is None:
                return {"content": [{"type": "text", "text": "Which city?"}], "isError": True, "_meta": {"own": 1}}
            said = {"city": city, "hour": 12.0}
            return {"content": [{"type": "text", "text": f"Noon in {city}"}], "structuredContent": said}
        case "tools/call":
            raise Wrong(-31999, "unknown tool", params)
    raise Wrong(-32601, f"no {method}")


async def mcp(request: Request) -> Response:
    message = await request.json()
    if "id" not in message:
        return Response(status_code=202)
    try:
        said = {"result": answer(message["method"], message.get("params", {}))}
    except Wrong as wrong:
        said = {"error": wrong.error}
    response = JSONResponse({"jsonrpc": "2.0", "id": message["id"], **said})
    response.set_cookie("tracked", "yes")
    return response


app = Starlette(routes=[Route("/mcp", mcp, methods=["POST"])])

if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, port=int(os.environ["PORT"]))
