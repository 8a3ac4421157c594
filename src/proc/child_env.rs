//! The environment of child processes: an allow-list, so that a secret nobody thought of is not inherited.
//!
//! A deny-list cannot work: services name their keys as they like (`HF_HOME` is a folder, `HF_AUTH` is not), and one missed name hands it to every
//! command that a model writes. A name missing from an allow-list is noticed at once and added.

use crate::base::env::Env;
use crate::base::word_list::WordList;
use crate::proc::writable_by_commands;

/// Passed to every child: user, home, language, network route.
const BASIC: WordList = WordList(
    "HOME USER LOGNAME LANG LANGUAGE TZ TZDIR TMPDIR SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE \
     http_proxy https_proxy ftp_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY FTP_PROXY \
     ALL_PROXY NO_PROXY SSH_AUTH_SOCK SSH_AGENT_PID GNUPGHOME NO_COLOR LD_LIBRARY_PATH SYSTEMROOT \
     WSL_DISTRO_NAME WSL_INTEROP",
);

/// Families of variables passed to every child.
const BASIC_FAMILIES: &[&str] = &["LC_", "XDG_"];

/// Also passed to commands: the terminal, the desktop, and where tool chains are installed.
const COMMAND: WordList = WordList(
    "SHELL TERM COLORTERM CLICOLOR COLUMNS LINES EDITOR VISUAL BROWSER CI HOSTNAME DISPLAY \
     WAYLAND_DISPLAY XAUTHORITY DBUS_SESSION_BUS_ADDRESS DESKTOP_SESSION PULSE_SERVER CC CXX \
     CFLAGS CXXFLAGS CPPFLAGS LDFLAGS MAKEFLAGS PKG_CONFIG_PATH CMAKE_PREFIX_PATH CARGO_HOME \
     CARGO_TARGET_DIR CARGO_BUILD_JOBS RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS RUST_BACKTRACE \
     GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOPROXY GOFLAGS GOTOOLCHAIN JAVA_HOME MAVEN_HOME \
     GRADLE_HOME GRADLE_USER_HOME ANDROID_HOME ANDROID_SDK_ROOT NVM_DIR NODE_ENV NODE_PATH \
     NODE_EXTRA_CA_CERTS PNPM_HOME VOLTA_HOME BUN_INSTALL DENO_DIR PYENV_ROOT PYTHONUNBUFFERED \
     PYTHONDONTWRITEBYTECODE UV_CACHE_DIR PIPX_HOME POETRY_HOME REQUESTS_CA_BUNDLE CURL_CA_BUNDLE \
     RBENV_ROOT GEM_HOME GEM_PATH BUNDLE_PATH ASDF_DIR ASDF_DATA_DIR SDKMAN_DIR DOTNET_ROOT \
     DOTNET_CLI_TELEMETRY_OPTOUT NIX_PATH NIX_PROFILES GUIX_PROFILE DOCKER_HOST DOCKER_CONTEXT \
     KUBECONFIG",
);

/// Also passed to the Copilot CLI: where it and the GitHub CLI keep their logins and settings, and the login itself when it comes by a variable. It is the one
/// program that is handed such secrets: it is the user's own client of the service that they are for.
const COPILOT: WordList = WordList(
    "GH_TOKEN GITHUB_TOKEN GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN GITHUB_COPILOT_API_TOKEN \
     GH_HOST GH_CONFIG_DIR GITHUB_HOST",
);

/// Variables of the Copilot CLI itself.
const COPILOT_FAMILY: &str = "COPILOT_";

/// Also passed to programs that record and play sound: which device, and where its server is.
const AUDIO: WordList = WordList(
    "ALSA_CARD ALSA_CONFIG_DIR ALSA_CONFIG_PATH AUDIODEV AUDIODRIVER ESPEAK_DATA_PATH \
     PIPEWIRE_REMOTE PIPEWIRE_RUNTIME_DIR PULSE_COOKIE PULSE_SINK PULSE_SOURCE",
);

/// All that servers of the Model Context Protocol get, with [`BASIC_FAMILIES`], besides what their configuration says: user, language, network route.
const SERVER: WordList = WordList(
    "HOME USER LOGNAME SHELL LANG TERM TMPDIR TZ SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS \
     REQUESTS_CA_BUNDLE CURL_CA_BUNDLE http_proxy https_proxy all_proxy no_proxy HTTP_PROXY \
     HTTPS_PROXY ALL_PROXY NO_PROXY",
);

/// Suffixes that mark a variable as secret; they win over the allow-list, so that neither a careless addition nor a family such as `XDG_` can leak
/// one.
const SECRET_ENDS: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIALS",
];

/// The search path when the environment has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The environment of commands that a user or a model runs, and of helper programs.
///
/// Never in it: `GIT_*`, `MARVIN_*`, `VIRTUAL_ENV`, `CONDA_PREFIX`, `PYTHONHOME`, `LD_PRELOAD`, and any name that ends like a key's.
pub(crate) fn command_env(env: &Env) -> Vec<(String, String)> {
    let mut vars = basic(env);
    vars.extend(select(env, |name| COMMAND.has(name)));
    vars.push(("PATH".into(), search_path(env)));
    vars.sort();
    vars
}

/// Keeps Python from writing byte code. It takes a file for the one that it compiled when their times agree to the second and their sizes to the byte
/// (<https://peps.python.org/pep-0552/>), so a file that is tested and mended within a second would be tested as it was.
pub(crate) const NO_BYTE_CODE: (&str, &str) = ("PYTHONDONTWRITEBYTECODE", "1");

/// The environment of programs that record and play sound.
pub(crate) fn audio_env(env: &Env) -> Vec<(String, String)> {
    let mut vars = command_env(env);
    vars.extend(select(env, |name| AUDIO.has(name)));
    vars.sort();
    vars
}

/// The environment of a server of the Model Context Protocol, with the variables that its entry sets.
pub(crate) fn server_env(env: &Env, own: &[(String, String)]) -> Vec<(String, String)> {
    let mut vars = select(env, |name| {
        SERVER.has(name) || BASIC_FAMILIES.iter().any(|family| name.starts_with(family))
    });
    vars.push(("PATH".into(), search_path(env)));
    vars.retain(|(name, _)| !own.iter().any(|(set, _)| set == name));
    vars.extend(own.iter().cloned());
    vars.sort();
    vars
}

/// The environment of git: no terminal, no desktop, no tool chains, none of git's own variables, and a search path without relative entries, so
/// that no file of a repository is run in place of a git program.
pub(crate) fn git_env(env: &Env) -> Vec<(String, String)> {
    let mut vars = basic(env);
    let path: Vec<String> = search_path(env)
        .split(':')
        .filter(|dir| dir.starts_with('/'))
        .map(str::to_owned)
        .collect();
    let path = writable_by_commands::without(&path.join(":"));
    vars.push(("PATH".into(), path));
    vars.sort();
    vars
}

/// The environment of the Copilot CLI: that of a command, and what its login needs.
pub(crate) fn copilot_env(env: &Env) -> Vec<(String, String)> {
    let mut vars = command_env(env);
    let own = |name: &str| COPILOT.has(name) || name.starts_with(COPILOT_FAMILY);
    let own = env
        .all()
        .filter(|(name, value)| own(name) && !value.contains('\0'));
    vars.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
    vars.sort();
    vars
}

/// The search path of children: the user's, with `~/.local/bin` at the end when it is not there already.
pub(crate) fn search_path(env: &Env) -> String {
    let path = env.get("PATH").unwrap_or(DEFAULT_PATH);
    let Some(home) = env.get("HOME").filter(|home| home.starts_with('/')) else {
        return path.to_owned();
    };
    let local = format!("{}/.local/bin", home.trim_end_matches('/'));
    if path
        .split(':')
        .any(|dir| dir.trim_end_matches('/') == local)
    {
        path.to_owned()
    } else {
        format!("{path}:{local}")
    }
}

fn basic(env: &Env) -> Vec<(String, String)> {
    select(env, |name| {
        BASIC.has(name) || BASIC_FAMILIES.iter().any(|family| name.starts_with(family))
    })
}

fn select(env: &Env, wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    env.all()
        .filter(|(name, value)| wanted(name) && !is_secret(name) && !value.contains('\0'))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_listed(vars: &[(String, String)]) -> Vec<&str> {
        vars.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn secrets_and_redirecting_variables_are_never_passed() {
        let never = [
            "GIT_DIR",
            "GIT_CONFIG_COUNT",
            "GIT_AUTHOR_NAME",
            "VIRTUAL_ENV",
            "CONDA_PREFIX",
            "PYTHONHOME",
            "LD_PRELOAD",
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "SPOTIFY_CLIENT_SECRET",
            "DB_PASSWORD",
            "NEWSAPI_KEY",
            "MARVIN_DEPTH",
            "NTFY_TOKEN",
            "XDG_SESSION_TOKEN",
            "LC_API_KEY",
            "BASH_ENV",
            "ENV",
            "RIPGREP_CONFIG_PATH",
            "UNHEARD_OF",
        ];
        let env = Env::new(never.map(|name| (name.into(), "x".into())));
        assert_eq!(is_listed(&command_env(&env)), ["PATH"]);
        assert_eq!(is_listed(&git_env(&env)), ["PATH"]);
    }

    #[test]
    fn commands_get_the_users_tools_and_git_gets_less() {
        let env = Env::from([
            ("HOME", "/home/u"),
            ("PATH", "/usr/bin:.:bin"),
            ("LC_TIME", "de_DE.UTF-8"),
            ("XDG_RUNTIME_DIR", "/run/user/1"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("https_proxy", "http://proxy:1"),
            ("DISPLAY", ":0"),
            ("CARGO_HOME", "/cargo"),
            ("TERM", "xterm"),
            ("AUDIODEV", "hw:1"),
        ]);
        assert!(is_listed(&audio_env(&env)).contains(&"AUDIODEV"));
        assert_eq!(
            is_listed(&command_env(&env)),
            [
                "CARGO_HOME",
                "DISPLAY",
                "HOME",
                "LC_TIME",
                "PATH",
                "SSH_AUTH_SOCK",
                "TERM",
                "XDG_RUNTIME_DIR",
                "https_proxy"
            ]
        );
        let git = git_env(&env);
        assert!(!is_listed(&git).contains(&"DISPLAY") && is_listed(&git).contains(&"HOME"));
        assert!(git.contains(&("PATH".into(), "/usr/bin:/home/u/.local/bin".into())));
    }

    #[test]
    fn a_server_gets_little_and_what_its_entry_sets() {
        let env = Env::from([
            ("HOME", "/home/u"),
            ("LC_ALL", "C"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("GITHUB_TOKEN", "secret"),
            ("MARVIN_MCP_TOKEN", "secret"),
            ("XDG_SESSION_TOKEN", "secret"),
            ("LANG", "C"),
        ]);
        let own = [("LANG", "de"), ("API_KEY", "k")];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let vars = server_env(&env, &own);
        let names = ["API_KEY", "HOME", "LANG", "LC_ALL", "PATH"];
        assert_eq!(is_listed(&vars), names);
        assert!(vars.contains(&("LANG".into(), "de".into())));
    }

    #[test]
    fn the_copilot_cli_gets_its_login_and_no_other_secret() {
        let env = Env::from([
            ("GH_TOKEN", "a"),
            ("COPILOT_HOME", "/c"),
            ("COPILOT_GITHUB_TOKEN", "b"),
            ("OPENAI_API_KEY", "c"),
            ("MARVIN_COPILOT_API_KEY", "d"),
            ("GITHUB_WEBHOOK_SECRET", "e"),
        ]);
        assert_eq!(
            is_listed(&copilot_env(&env)),
            ["COPILOT_GITHUB_TOKEN", "COPILOT_HOME", "GH_TOKEN", "PATH"]
        );
    }

    #[test]
    fn the_users_own_programs_are_on_the_path_once() {
        let path =
            |path: &str, home: &str| search_path(&Env::from([("PATH", path), ("HOME", home)]));
        assert_eq!(path("/bin", "/home/u"), "/bin:/home/u/.local/bin");
        assert_eq!(
            path("/home/u/.local/bin/:/bin", "/home/u"),
            "/home/u/.local/bin/:/bin"
        );
        assert_eq!(path("/bin", ""), "/bin");
        assert_eq!(path("", "/h"), "/usr/local/bin:/usr/bin:/bin:/h/.local/bin");
    }
}
