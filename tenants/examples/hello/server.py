"""The smallest plugin: one tool that answers in words."""

from tenantry import Plugin

plugin = Plugin()


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Say hello")
def hello(name: str = "world") -> str:
    """Use this when the user wants somebody to be greeted."""
    return f"Hello, {name}!"
