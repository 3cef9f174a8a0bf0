"""For the emulator's Lambda workers: two things that AWS gives each of them.

They speak to the emulator over standard output, which the sandbox takes for what tenants' code prints; on AWS the
runtime speaks over HTTP. Here the worker gets a stream of its own. And a /tmp of its own: here all share the machine's.
"""

import os
import sys
import tempfile

if sys.argv[:1] == ["-c"] or os.path.basename(sys.argv[0] if sys.argv else "") == "_worker.py":
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="environment-")
