#!/bin/sh
# Puts what others have written for the Model Context Protocol into a folder, for the tests that let it at Marvin as server and as client: the protocol's
# conformance suite (with the Node.js that it needs), its reference servers, its Inspector and the official Python SDK. It needs npm and Python 3.10 or later:
#   MARVIN_TEST_MCP_PEERS="$(scripts/mcp-peers.sh)" cargo test --test suite mcp_peers::
# Nothing is installed on the system.
set -eu
node_version=22.23.3
conformance_version=0.2.0-alpha.12
reference_servers_version=2026.8.31
inspector_version=0.15.0
python_sdk_version=2.3.0
all="$node_version $conformance_version $reference_servers_version $inspector_version $python_sdk_version"
dir=${1:-${TMPDIR:-/tmp}/marvin-mcp-peers}
mkdir -p "$dir"
cd "$dir"
if [ "$(cat installed 2>/dev/null)" != "$all" ]; then
    npm install --no-save --no-audit --no-fund --silent "node@$node_version" "@modelcontextprotocol/conformance@$conformance_version" \
        "@modelcontextprotocol/server-everything@$reference_servers_version" "@modelcontextprotocol/server-filesystem@$reference_servers_version" \
        "@modelcontextprotocol/server-memory@$reference_servers_version" "@modelcontextprotocol/inspector@$inspector_version" >&2
    python3 -m venv python >&2
    python/bin/pip install --quiet --disable-pip-version-check "mcp==$python_sdk_version" >&2
    echo "$all" >installed
fi
echo "$dir"
