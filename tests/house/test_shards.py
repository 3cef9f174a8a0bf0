"""Every test runs in a shard: a file that none of them names would be green for ever."""

from __future__ import annotations

import run
from house.source import ROOT


def test_every_test_file_is_in_a_shard() -> None:
    named = [ROOT / path for shard in run.read_shards().values() if not shard.run for path in run.test_paths(shard)]
    left_out = [
        str(file.relative_to(ROOT))
        for file in (ROOT / "tests").rglob("test_*.py")
        if "node_modules" not in file.parts and not any(file == path or path in file.parents for path in named)
    ]
    assert left_out == []
