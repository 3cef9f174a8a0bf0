"""A traceback as its author wants it: the frames in the plugin's own files, by their paths in its folder."""

from __future__ import annotations

import re
from collections.abc import Iterator

HEAD = "Traceback (most recent call last):"
FRAME = re.compile(r'\s*File "(?P<path>[^"]+)", line \d+')
PLUGIN_ERROR = re.compile(r"^tenantry\.errors\.PluginError: ", re.MULTILINE)
UNDERLINE = re.compile(r"[ ~^]*[~^]{2}[ ~^]*")  # below a line that is shown already
OWN = re.compile(r".*/bundles/[0-9a-f]{64}/")


def own_frames(text: str) -> list[str]:
    """The lines that are about the author's files; of the first error where several are chained."""
    first = next((part for part in text.split(HEAD)[1:] if OWN.search(part)), "")
    return [*frames(first)]


def frames(text: str) -> Iterator[str]:
    """Frames of the author's files, each with its source lines, and the error itself."""
    kept = False
    for line in text.rstrip().splitlines()[1:]:
        if line.startswith("The above exception") or line.startswith("During handling"):
            return
        frame = FRAME.match(line)
        if frame:
            kept = bool(OWN.match(frame["path"]))
        elif not line.startswith(" "):
            kept = bool(line.strip())
        if kept and not UNDERLINE.fullmatch(line):
            yield OWN.sub('  File "', line) if frame else line


def split(message: str) -> tuple[str, list[str]]:
    """(the sentence, the author's frames) of a message that carries a traceback below its first line."""
    sentence, _, rest = message.partition("\n")
    own = own_frames(rest)
    if PLUGIN_ERROR.search(rest):  # the sentence and the hint are its words
        own = [line for line in own if line.startswith(" ")]
    return sentence, own
