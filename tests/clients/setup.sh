#!/usr/bin/env bash
# Makes what tests/clients needs: one environment a client (they want different versions of `mcp`), and node_modules.
# Quick when nothing changed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
uv=$root/.venv/bin/uv
[ -x "$uv" ] || uv=uv
for lock in "$here"/*.txt; do
    name=$(basename "$lock" .txt)
    venv=$root/.venvs/clients-$name
    stamp=$venv/.locked
    if ! cmp -s "$lock" "$stamp"; then
        rm -rf "$venv"
        "$uv" venv -q --python "$root/.venv/bin/python" "$venv"
        VIRTUAL_ENV=$venv "$uv" pip install -q --require-hashes -r "$lock"
        cp "$lock" "$stamp"
    fi
done
cd "$here/node"
if ! cmp -s package-lock.json node_modules/.locked; then
    PATH=$root/.venv/bin:$PATH npm ci --no-audit --no-fund --ignore-scripts --loglevel=error
    cp package-lock.json node_modules/.locked
fi
