#!/usr/bin/env bash
# The steps of the action beside it: key, build, run. Everything that it is given is an environment variable, and is only ever an argument, never a part of a script.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
install_dir=${HOME}/.cache/marvin-action

# An output of the step: a random line ends it, so that no text can end it and begin another one.
output() {
    local end
    end="end-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
    {
        printf '%s<<%s\n' "$1" "$end"
        printf '%s\n' "$2"
        printf '%s\n' "$end"
    } >> "$GITHUB_OUTPUT"
}

# Whether the answer was an error, once that is written.
is_error=

fail() {
    if [ -z "$is_error" ] && [ -n "${GITHUB_OUTPUT:-}" ]; then
        output is-error true
    fi
    # Without line breaks and percent signs, which would begin another command of the runner.
    local words=${1//'%'/%25}
    words=${words//$'\r'/%0D}
    words=${words//$'\n'/%0A}
    printf '::error::%s\n' "$words"
    exit 1
}

# The variable that holds the key of a provider, as the row of the provider with this name says it.
key_variable() {
    "$marvin" services --json | jq -r --arg name "$1" '
        map(select(.about == "language model" and ([.id] + .other_names | index($name | ascii_downcase))))[0].key_variable // empty'
}

key() {
    local sum
    sum=$(cat "$source_dir/Cargo.lock" "$source_dir/Cargo.toml" | git hash-object --stdin)
    output key "marvin-action-$(uname -s)-$(uname -m)-$sum-$(git -C "$source_dir" rev-parse HEAD 2> /dev/null || echo none)"
    output folder "$install_dir"
}

build() {
    if [ ! -x "$install_dir/bin/marvin" ]; then
        cargo install --locked --path "$source_dir" --root "$install_dir"
    fi
}

run() {
    command -v jq > /dev/null || fail 'The program jq is missing on this runner.'
    marvin=${INPUT_MARVIN:-$install_dir/bin/marvin}
    [ ! -d "$marvin" ] && command -v -- "$marvin" > /dev/null || fail "There is no Marvin at $marvin that can be run."
    case $marvin in
        */*) marvin=$(cd "$(dirname "$marvin")" && pwd)/$(basename "$marvin") ;;
    esac
    local workspace working_directory given=${INPUT_WORKING_DIRECTORY:-.}
    workspace=$(cd -- "${GITHUB_WORKSPACE:-.}" && pwd -P)
    # A checkout may hold a link, and commands in the sandbox may change the folder in which they begin. Who wrote down a folder elsewhere wrote one without links.
    case $given in
        /*) ;;
        *) given=./$given ;;
    esac
    working_directory=$(cd -- "$given" 2> /dev/null && pwd -P) || fail 'working-directory is no folder that exists.'
    case $working_directory in
        "$workspace" | "$workspace"/* | "${given%/}") ;;
        *) fail 'working-directory leads out of the workspace.' ;;
    esac
    local folder prompt events
    folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/marvin-XXXXXX")
    prompt=$folder/prompt.md
    events=$folder/events.jsonl
    if [ -n "${INPUT_PROMPT}" ] && [ -n "${INPUT_PROMPT_FILE}" ]; then
        fail 'Give prompt or prompt-file, not both.'
    elif [ -n "${INPUT_PROMPT_FILE}" ]; then
        # A checkout may hold a link, and one to /proc or to the runner's own files would send keys to the model.
        local wanted
        wanted=$(realpath -e -- "$INPUT_PROMPT_FILE") || fail 'prompt-file cannot be read.'
        case $wanted in
            "$workspace"/* | "${RUNNER_TEMP:-/nonexistent}"/*) ;;
            *) fail 'prompt-file leads out of the workspace.' ;;
        esac
        [ -f "$wanted" ] || fail 'prompt-file is no file.'
        cp -- "$wanted" "$prompt" || fail 'prompt-file cannot be read.'
    elif [ -n "${INPUT_PROMPT}" ]; then
        printf '%s' "$INPUT_PROMPT" > "$prompt"
    else
        fail 'There is no prompt.'
    fi

    local arguments=(
        --non-interactive
        --output-format=stream-json
        "--prompt-file=$prompt"
        "--working-dir=$working_directory"
        "--sandbox=${INPUT_SANDBOX:-workspace-write}"
        "--max-cost=${INPUT_MAX_COST:-1}"
    )
    # Nothing reaches the network in read-only, and "on" is what the action says unless it is told otherwise.
    if [ "${INPUT_SANDBOX:-}" != read-only ] || [ "${INPUT_SANDBOX_NETWORK:-on}" != on ]; then
        arguments+=("--sandbox-network=${INPUT_SANDBOX_NETWORK:-on}")
    fi
    local name value
    for name in model provider allowed-tools disallowed-tools max-turns json-schema append-system-prompt; do
        value=INPUT_$(printf '%s' "$name" | tr 'a-z-' 'A-Z_')
        value=${!value:-}
        if [ -n "$value" ]; then
            arguments+=("--$name=$value")
        fi
    done
    if [ "${INPUT_TRUST_PROJECT:-}" = true ]; then
        arguments+=(--trust-project)
    fi

    if [ -n "${INPUT_API_KEY:-}" ]; then
        printf '%s\n' "$INPUT_API_KEY" | while IFS= read -r line; do
            line=${line//'%'/%25}
            line=${line//$'\r'/%0D}
            [ -z "$line" ] || printf '::add-mask::%s\n' "$line"
        done
        [ -n "${INPUT_PROVIDER:-}" ] || fail 'api-key needs provider: it says which variable the key is given as.'
        local variable
        variable=$(key_variable "$INPUT_PROVIDER")
        [ -n "$variable" ] || fail "The provider \"$INPUT_PROVIDER\" is not known, or takes no key."
        export "$variable=$INPUT_API_KEY"
    fi
    unset GITHUB_TOKEN GH_TOKEN
    if [ "${INPUT_PASS_GITHUB_TOKEN:-}" = true ]; then
        export "GITHUB_TOKEN=${INPUT_GITHUB_TOKEN:-}"
    fi
    # Nothing that Marvin starts is to find inputs and keys there.
    for name in "${!INPUT_@}"; do
        unset "$name"
    done

    local status=0
    "$marvin" "${arguments[@]}" < /dev/null > "$events" || status=$?

    local last
    last=$(jq -c 'select(.type == "result")' "$events" 2> /dev/null | tail -n 1) || last=''
    field() {
        if [ -n "$last" ]; then
            jq -r "$1" <<< "$last"
        fi
    }
    local result
    result=$(field '.result // ((.errors // []) | join("\n"))')
    is_error=$(field '.is_error')
    if [ -z "$last" ]; then
        result='Marvin ended without a result; its log says why.'
        is_error=true
    fi
    output result "$result"
    output structured-output "$(field 'if has("structured_output") then (.structured_output | tojson) else "" end')"
    output cost "$(field '.total_cost_usd')"
    output session-id "$(field '.session_id')"
    output is-error "$is_error"
    output events "$events"

    if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
        # Fenced with more backquotes than the answer has in a row, so that it cannot close the fence.
        local longest fence
        longest=$(printf '%s\n' "$result" | awk '
            { for (rest = $0; match(rest, /`+/); rest = substr(rest, RSTART + RLENGTH)) if (RLENGTH > most) most = RLENGTH }
            END { print most + 0 }')
        fence=$(printf '`%.0s' $(seq 1 $((longest > 2 ? longest + 1 : 3))))
        {
            printf '### Marvin\n\n%stext\n%s\n%s\n\n' "$fence" "$result" "$fence"
            printf 'Cost: %s USD\n' "$(field '.total_cost_usd')"
        } >> "$GITHUB_STEP_SUMMARY"
    fi
    if [ "$is_error" != false ] || [ "$status" -ne 0 ]; then
        fail "Marvin failed: ${result:0:500}"
    fi
}

case ${1:-} in
    key | build | run) "$1" ;;
    *) fail 'This script is for the steps of the action.' ;;
esac
