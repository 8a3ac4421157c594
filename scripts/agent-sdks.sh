#!/bin/sh
# Puts the SDKs that the tests are written for into a folder, for those that drive Marvin with them: the Claude Agent SDKs, and that of the Agent Client
# Protocol; and the official test cases of JSON Schema, which the source of a Python package carries, into `json-schema` there; and pytest, for a
# project that the pipeline builds. It needs npm and Python 3.10 or later:
#   MARVIN_TEST_AGENT_SDKS="$(scripts/agent-sdks.sh)" cargo test --test suite agent_sdks::
# Nothing is installed on the system, and the programs that the packages could bring along are left out. TypeScript's compiler checks the lines against the types of the npm package.
set -eu
npm_version=0.3.330
pypi_version=0.2.187
typescript_version=5.9.3
node_types_version=22.20.5
acp_version=2.4.0
jsonschema_version=4.26.0
pytest_version=9.2.0
all="$npm_version $pypi_version $typescript_version $node_types_version $acp_version $jsonschema_version $pytest_version"
dir=${1:-${TMPDIR:-/tmp}/marvin-agent-sdks}
mkdir -p "$dir"
cd "$dir"
if [ "$(cat installed 2>/dev/null)" != "$all" ]; then
    npm install --no-save --no-audit --no-fund --omit=optional --silent "@anthropic-ai/claude-agent-sdk@$npm_version" "typescript@$typescript_version" "@types/node@$node_types_version" \
        "@agentclientprotocol/sdk@$acp_version" >&2
    python3 -m venv python >&2
    python/bin/pip install --quiet --disable-pip-version-check "claude-agent-sdk==$pypi_version" "pytest==$pytest_version" >&2
    rm -rf json-schema
    mkdir json-schema
    python/bin/pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --dest json-schema "jsonschema==$jsonschema_version" >&2
    tar -xzf json-schema/jsonschema-*.tar.gz -C json-schema --strip-components=2 --wildcards '*/json/tests/*'
    echo "$all" >installed
fi
echo "$dir"
