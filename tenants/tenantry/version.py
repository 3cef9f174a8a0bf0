"""The kit's version, and the version of what it speaks with the runner. A constant: reading metadata costs time."""

VERSION = "0.1.0"
PROTOCOL = 1
