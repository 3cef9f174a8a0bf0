"""A widget that loads in every way that HTML, CSS and scripts know."""

from pydantic import BaseModel
from tenantry import CSP, Plugin, Widget

plugin = Plugin()
tree = Widget("widgets/tree/index.html", csp=CSP())


class Nothing(BaseModel):
    count: int = 0


@plugin.tool(read_only=True, destructive=False, open_world=False, widget=tree)
def show() -> Nothing:
    """Use this to see the tree."""
    return Nothing()
