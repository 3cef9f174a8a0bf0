"""Defines a server and starts nothing."""

from mcp.server import MCPServer

mcp = MCPServer("defined")
