"""A plugin with sign-in: open to anyone, to a user, and to a user who granted more."""

from tenantry import Context, NoAuth, OAuth2, Plugin, Profile

plugin = Plugin()


@plugin.tool(read_only=True, destructive=False, open_world=False, auth=[NoAuth()])
def look() -> str:
    """Looks around, for anyone."""
    return "animals"


@plugin.tool(read_only=True, destructive=False, open_world=False, auth=[OAuth2("recipes.read")])
def mine(ctx: Context) -> str:
    """Counts the signed-in user's visits."""
    ctx.state["visits"] = ctx.state.get("visits", 0) + 1
    return f"{ctx.user.sub} {ctx.state['visits']}"


@plugin.tool(read_only=False, destructive=False, open_world=False, auth=[OAuth2("recipes.write")])
def cook(ctx: Context) -> str:
    """Writes a recipe."""
    return f"{ctx.user.name} cooks"


@plugin.profile
def whoami(ctx: Context) -> Profile:
    return Profile(id=ctx.user.sub, name=ctx.user.name, email=ctx.user.email)
