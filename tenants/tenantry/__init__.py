"""The kit: what the author of a plugin imports. Standard library and pydantic only.

`Plugin` collects declarations; each is checked where it stands. The platform asks a plugin for its description when
it is published and makes calls into it afterwards; everything static on the wire comes from the description, so that
this code runs for calls alone. What is not needed to declare a plugin is imported at first use.
"""

from typing import TYPE_CHECKING, Any

from tenantry.auth import NoAuth, OAuth2
from tenantry.content import Annotations, Audio, Contents, EmbeddedResource, Icon, Image, ResourceLink, Text
from tenantry.context import Context
from tenantry.errors import AuthRequired, Declined, FileError, PluginError, ToolError
from tenantry.file import File
from tenantry.header import Header
from tenantry.hints import Location, Unverified
from tenantry.plugin import Plugin
from tenantry.profile import Profile
from tenantry.result import Result
from tenantry.user import User
from tenantry.version import VERSION as __version__
from tenantry.widget import CSP, Widget

if TYPE_CHECKING:
    from tenantry.ask import Elicit, Root, Roots, Sample, Sampled, Visit
    from tenantry.prompt import Message

__all__ = [
    "CSP",
    "Annotations",
    "Audio",
    "AuthRequired",
    "Contents",
    "Context",
    "Declined",
    "Elicit",
    "EmbeddedResource",
    "File",
    "FileError",
    "Header",
    "Icon",
    "Image",
    "Location",
    "Message",
    "NoAuth",
    "OAuth2",
    "Plugin",
    "PluginError",
    "Profile",
    "ResourceLink",
    "Result",
    "Root",
    "Roots",
    "Sample",
    "Sampled",
    "Text",
    "ToolError",
    "Unverified",
    "User",
    "Visit",
    "Widget",
    "__version__",
]

_LATER = dict.fromkeys(("Elicit", "Root", "Roots", "Sample", "Sampled", "Visit"), "ask") | {"Message": "prompt"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'tenantry' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"tenantry.{_LATER[name]}"), name)
