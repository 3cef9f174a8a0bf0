"""One command, one file: each module here holds one click command named `command`."""
