#!/usr/bin/env bash
# What this shard needs beside the project's own environment: the emulator in one of its own, and the CDK CLI.
set -euo pipefail
cd "$(dirname "$0")/../.."
made_from=$(sha256sum infra/locks/ministack.txt | cut -d' ' -f1)
if [ "$(cat .venvs/ministack/.made-from 2>/dev/null)" != "$made_from" ]; then
  .venv/bin/uv venv -q --clear --python .venv/bin/python .venvs/ministack
  VIRTUAL_ENV=$PWD/.venvs/ministack .venv/bin/uv pip install -q --require-hashes -r infra/locks/ministack.txt
  echo "$made_from" > .venvs/ministack/.made-from
fi
.ci/npm infra
