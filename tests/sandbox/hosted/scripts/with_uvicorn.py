"""An app that is handed to uvicorn."""

import uvicorn
from mcp.server import MCPServer

mcp = MCPServer("uvicorn script")
app = mcp.streamable_http_app(stateless_http=True)

if __name__ == "__main__":
    uvicorn.run(app, host="0.0.0.0", port=8000)
