"""The client that the conformance suite of the Model Context Protocol runs: Marvin, in a home of its own.

`mcp_conformance_client.py MARVIN ADDRESS` configures one server at the address, with what the suite says of the client, and uses it as a person would: it is asked what it has, and
its tools, resources and prompts are used once. The browser is this script too: it follows redirects.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request

SERVER = "suite"


def browse(address: str) -> None:
    with urllib.request.urlopen(address, timeout=20) as answer:
        answer.read()


def oauth(scenario: str, context: dict) -> dict:
    """What a user would have set about signing in."""
    if scenario == "auth/basic-cimd":
        return {"clientMetadataUrl": "https://conformance-test.local/client-metadata.json"}
    names = {"client_id": "clientId", "client_secret": "clientSecret"}
    return {new: context[old] for old, new in names.items() if old in context}


def main(marvin: str, address: str) -> int:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with tempfile.TemporaryDirectory() as home:
        entry = {"url": address, "oauth": oauth(scenario, context)}
        with open(os.path.join(home, "mcp.json"), "w") as file:
            json.dump({"mcpServers": {SERVER: entry}}, file)
        env = {
            "HOME": home,
            "MARVIN_CONFIG_DIR": home,
            "PATH": os.environ["PATH"],
            "BROWSER": f"{sys.executable} {os.path.abspath(__file__)} --browse",
            "MARVIN_ALLOW_PRIVATE": "localhost",
        }

        def run(*words: str) -> subprocess.CompletedProcess:
            done = subprocess.run(
                [marvin, "mcp", *words], env=env, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=25
            )
            print(words, done.returncode, done.stdout[:2000], done.stderr[:2000], file=sys.stderr)
            return done

        login = ["--login"] if scenario.startswith("auth/") else []
        test = run("test", SERVER, "--json", *login)
        if test.returncode != 0:
            return test.returncode
        told = json.loads(test.stdout)
        tools = {tool["name"]: tool for tool in told.get("tools") or []}
        calls = context.get("toolCalls") or [{"name": name, "arguments": arguments(tools, name)} for name in tools]
        status = 0
        if scenario == "json-schema-ref-no-deref":
            # Its server has no calls.
            calls = []
        for call in calls:
            words = [call["name"], "--json", json.dumps(call.get("arguments") or {}), *login]
            status = max(status, run("call", SERVER, *words, "--answers", "{}").returncode)
        for resource in told.get("resources") or []:
            status = max(status, run("read", SERVER, resource["uri"]).returncode)
        for prompt in told.get("prompts") or []:
            status = max(status, run("prompt", SERVER, prompt["name"]).returncode)
        return status


def arguments(tools: dict, name: str) -> dict:
    """Something for each property that is required."""
    if name == "json_schema_echo":
        return {"schema": tools["json_schema_2020_12_tool"]["inputSchema"]}
    schema = tools[name].get("inputSchema") or {}
    values = {"string": "text", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    properties = schema.get("properties") or {}
    return {name: values.get(properties.get(name, {}).get("type"), "text") for name in schema.get("required") or []}


if sys.argv[1] == "--browse":
    browse(sys.argv[2])
else:
    sys.exit(main(sys.argv[1], sys.argv[2]))
