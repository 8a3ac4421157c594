//! The environment variables that Marvin obeys, declared once: name, type, default, description.
//!
//! Code reads them by these constants: one that is not declared does not compile, and one that nothing reads is dead code. `config.yaml` sets them too,
//! secrets excepted. Providers and services have further ones, which are made from their tables; variables of other programs (`HOME`, `TERM`) are none of
//! these.

use super::env::Env;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Text {
    pub name: &'static str,
}

impl Text {
    const IS_SECRET: bool = false;

    /// Its value, when it is set.
    pub(crate) fn read(self, env: &Env) -> Option<&str> {
        env.get(self.name)
    }
}

/// A secret: never in a file, a log or a child.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Secret {
    pub name: &'static str,
}

impl Secret {
    const IS_SECRET: bool = true;

    /// Its value, when it is set.
    pub(crate) fn read(self, env: &Env) -> Option<&str> {
        env.get(self.name)
    }
}

/// On or off; off when it is not set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Switch {
    pub name: &'static str,
}

impl Switch {
    const IS_SECRET: bool = false;

    /// True when it is on.
    pub(crate) fn read(self, env: &Env) -> bool {
        env.flag(self.name)
    }
}

/// A whole number of zero or more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole {
    pub name: &'static str,
    /// Its value when it is not set, or is no such number.
    pub default: u64,
}

impl Whole {
    const IS_SECRET: bool = false;

    pub(crate) fn read(self, env: &Env, warn: &mut dyn FnMut(String)) -> u64 {
        env.number(self.name, self.default, warn)
    }
}

/// A variable as the help lists it.
pub(crate) struct DeclaredVariable {
    pub name: &'static str,
    pub doc: &'static str,
    /// Holds a secret.
    pub is_secret: bool,
}

macro_rules! variables {
    ($( $name:ident: $kind:ident $(= $default:literal)?, $doc:literal; )*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`: ", $doc)]
            pub(crate) const $name: $kind = $kind { name: stringify!($name) $(, default: $default)? };
        )*

        /// All of them, in the order of the help.
        pub(crate) const TABLE: &[DeclaredVariable] = &[$(
            DeclaredVariable { name: stringify!($name), doc: $doc, is_secret: $kind::IS_SECRET },
        )*];
    };
}

variables! {
    LLM_PROVIDER: Text, "provider, when --provider does not say";
    MARVIN_MODEL: Text, "model in non-interactive mode";
    MARVIN_CHAT_MODEL: Text, "model of copilot (claude-haiku-4.5)";
    MARVIN_COPILOT_CLI: Text, "the Copilot CLI, instead of copilot on PATH";
    COPILOT_CLI_PATH: Text, "the same, when MARVIN_COPILOT_CLI is not set";
    MARVIN_COPILOT_BASE_URL: Text, "address of a server of your own that the Copilot CLI asks instead of GitHub";
    MARVIN_COPILOT_API_KEY: Secret, "key for that server";
    MARVIN_NO_FALLBACK: Switch, "1 never lets Copilot answer when another provider fails";
    MARVIN_EFFORT: Text, "how hard the model thinks, as --effort";
    MARVIN_DEPTH: Whole = 0, "how many Marvins stand above this one";
    MARVIN_TICKET: Text, "parent ticket of a child";
    MARVIN_BRANCH: Text, "branch that a child commits on, and on no other";
    MARVIN_CODE_MODEL_LOW: Text, "model of the pipeline's codex tier: implementation and fixes";
    MARVIN_CODE_MODEL_HIGH: Text, "model of its opus tier: reviews";
    MARVIN_CODE_MODEL_PLAN: Text, "model of its plan tier: debugging";
    MARVIN_CODE_MODEL_PLAN_GEN: Text, "model of its plan_gen tier: documents";
    MARVIN_CODE_MODEL_TEST_WRITER: Text, "model of its test_writer tier";
    MARVIN_CODE_MODEL_AUX_REVIEWER: Text, "model of its aux_reviewer tier: further reviews";
    MARVIN_CODE_MODEL_FALLBACK: Text, "model of its fallback tier: fixers and last attempts";
    MARVIN_REVIEW_CODEBASE_MODEL: Text, "model of the reviewers of review_codebase, instead of their tiers'";
    MARVIN_REVIEW_CODEBASE_FIXER: Text, "model of its fixer";
    MARVIN_DEBUG_ROUNDS: Whole = 50, "the most rounds of debugging in the pipeline (50)";
    MARVIN_E2E_ROUNDS: Whole = 10, "the most rounds of trying the program (10)";
    MARVIN_FE_ROUNDS: Whole = 10, "the most rounds of checking served pages (10)";
    MARVIN_QA_ROUNDS: Whole = 3, "the most rounds of quality assurance (3)";
    MARVIN_PROVIDER_PATIENCE: Whole = 600, "seconds that each child of the pipeline waits in all for a provider that cannot answer now (600)";
    MARVIN_PROVIDER_PAUSE: Whole = 5, "seconds of its first pause; each is twice as long as the one before, up to 60 (5)";
    MARVIN_LEASH: Switch, "1 ends this process when its standard input closes; set by Marvin for its children";
    MARVIN_PARENT_SOCKET: Text, "process and socket that a sub-agent asks about calls; set by Marvin for its children";
    MARVIN_TELL_LINES: Switch, "1 makes a run tell its messages and the results of its calls as lines of JSON on standard error too; set by Marvin for its children";
    MARVIN_WITHHELD_WORDS: Text, "words that the system prompt does not name, separated by commas; set by Marvin for its reviewers";
    TICKETS_DIR: Text, "folder of the tickets, instead of the nearest .tickets";
    MARVIN_READONLY: Switch, "1 takes away every tool that changes more than notes, tickets and the session";
    MARVIN_WRITABLE_FILES: Text, "the only files that may be written, separated by commas";
    MARVIN_PROJECT_TEXTS: Text, "what the system prompt holds of the project's own texts: all, instructions, user (the user's own instructions alone) or none (all); set by Marvin for its children";
    MARVIN_SUBAGENT_LOG: Text, "file for one JSON line a tool call";
    EDITOR: Text, "editor for preferences (nano)";
    VISUAL: Text, "editor for preferences, when EDITOR is not set";
    MARVIN_SHELL: Text, "shell that runs commands with -c, instead of bash or sh";
    MARVIN_CONFIG_DIR: Text, "folder of settings and profiles instead of ~/.config/local-finder";
    MARVIN_CONTACT: Text, "contact named to services in the User-Agent";
    MARVIN_PRICES: Text, "JSON file with prices that override the built-in ones";
    MARVIN_MODELS: Text, "JSON file in the form of models.dev, with what is newer than the built-in table";
    MARVIN_CONNECT_TIMEOUT: Whole = 10, "seconds to connect to a provider (10)";
    MARVIN_FIRST_BYTE_TIMEOUT: Whole = 60, "seconds to a reply's first byte (60; servers of this machine 300)";
    MARVIN_IDLE_TIMEOUT: Whole = 120, "seconds of silence inside a reply (120)";
    MARVIN_RETRIES: Whole = 2, "how often a request is sent again that a provider could not answer now: 0, 1 or 2 (2)";
    OPENAI_ORG_ID: Text, "organization that openai's requests count for";
    OPENAI_ORGANIZATION: Text, "the same, when OPENAI_ORG_ID is not set";
    OPENAI_PROJECT_ID: Text, "project that openai's requests count for";
    OLLAMA_CONTEXT: Text, "window to load Ollama's models with, in tokens (what the model is set up with, else 32768; at most the model's own)";
    MARVIN_TOOLS: Text, "tool groups offered, as --tools";
    MARVIN_TOOL_SEARCH: Text, "auto, on or off: requests carry a few tools and one that finds the others (auto: where there are more than 32)";
    MARVIN_PERMISSION_MODE: Text, "which calls run unasked, as --permission-mode";
    MARVIN_ALLOWED_TOOLS: Text, "rules of calls that run unasked, as --allowed-tools";
    MARVIN_DISALLOWED_TOOLS: Text, "rules of calls that are refused, as --disallowed-tools and beside it";
    MARVIN_SANDBOX: Text, "what commands of the model may change, as --sandbox: read-only, workspace-write or danger-full-access";
    MARVIN_SANDBOX_NETWORK: Text, "whether they have the network, as --sandbox-network: on or off";
    MARVIN_SANDBOX_WRITABLE: Text, "folders that they may change beside the workspace, separated by colons";
    MARVIN_SANDBOX_EXCLUDE_TMP: Switch, "1 keeps them from changing /tmp and /var/tmp";
    MARVIN_SANDBOX_LOCAL_SOCKETS: Switch, "1 lets them reach programs of this machine by Unix sockets, such as Docker, which can undo the sandbox";
    MARVIN_SANDBOX_ACTIVE: Text, "the mode of the sandbox around this process; set by Marvin for commands";
    MARVIN_SANDBOX_NETWORK_ACTIVE: Text, "whether there is network in it; set by Marvin for commands";
    MARVIN_NO_HOOKS: Switch, "1 runs no hooks, as --no-hooks";
    MARVIN_ALLOW_PRIVATE: Text, "private addresses that tools may reach: HOST[:PORT] or CIDR, separated by commas";
    MARVIN_RECORD_COMMAND: Text, "command that records for /v and /voice, with {file} and {seconds}, instead of arecord, sox, ffmpeg or pw-record";
    MARVIN_SPEAK_COMMAND: Text, "command that speaks its standard input in voice mode, instead of piper, espeak-ng or say";
    MARVIN_PIPER_VOICE: Text, "voice of piper: an .onnx file with its .onnx.json beside it";
    WHISPER_MODEL: Text, "model that writes down what was recorded (whisper-large-v3)";
    MARVIN_SPOTIFY_PORT: Text, "port of the address that the sign-in to Spotify comes back to (8888)";
    BLENDER_MCP_HOST: Text, "host of Blender's BlenderMCP add-on (127.0.0.1)";
    BLENDER_MCP_PORT: Whole = 9876, "port of the add-on (9876)";
    MARVIN_NOTIFY: Text, "how Marvin calls when an answer ends or a question waits while you are away or for ten seconds: auto, bell, osc9, osc777 or off (auto)";
    MARVIN_MOUSE: Text, "mouse reports, with which the wheel always scrolls but selecting needs Shift: on, off or auto, which is on in tmux (auto)";
    MARVIN_THEME: Text, "colours: auto, dark, light, contrast or color-blind (what /theme stored, else auto)";
    MARVIN_NOW: Text, "stops the clock, for tests";
    NO_COLOR: Text, "no colours";
    FORCE_HYPERLINK: Text, "links in answers: 1 in every terminal, 0 in none (where the terminal is known to have them)";
    HTTP_PROXY: Text, "proxy for http addresses";
    HTTPS_PROXY: Text, "proxy for https addresses";
    ALL_PROXY: Text, "proxy for all addresses";
    NO_PROXY: Text, "hosts that are reached without a proxy";
    SSL_CERT_FILE: Text, "certificates to trust instead of the built-in ones";
    SPOTIFY_CLIENT_SECRET: Secret, "secret of the Spotify application";
    NTFY_TOKEN: Secret, "token for ntfy";
    MARVIN_MCP_LOG: Text, "lowest level of what servers of the Model Context Protocol log: debug, info, notice, warning, error (warning)";
    MARVIN_MCP_WAIT: Whole = 5, "seconds that a run waits for servers of the Model Context Protocol of which nothing is remembered (5)";
    MARVIN_MCP_TOKEN: Secret, "token that clients of marvin mcp serve --http have to send";
}
