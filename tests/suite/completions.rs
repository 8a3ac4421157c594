//! The completion scripts and the manual page, loaded by the programs that they are for.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::commands::run;
use crate::support::conversation::says;
use crate::support::home::{Home, write};
use crate::support::run::{Done, Marvin, program};
use crate::support::server::Server;
use crate::support::shared::skip;
use crate::support::words::TextAssertions;

/// Completes one command line in zsh interactively: a terminal, an interactive shell, a press of Tab. The candidates are captured in `compadd`,
/// where every completion ends.
const ZSH: &str = r#"
zmodload zsh/zpty || exit 3
zpty shell "ZDOTDIR=${(q)PWD}/zsh zsh -i" || exit 3
zpty -r shell seen $'*\x01ready\x01*' || exit 4
zpty -w -n shell "$1"$'\t'
zpty -r shell seen $'*\x01end\x01*' || exit 5
zpty -d shell
"#;

const ZSHRC: &str = r#"
PROMPT= RPROMPT=
setopt extended_glob
fpath=($ZDOTDIR $fpath)
autoload -Uz compinit && compinit -u -d $ZDOTDIR/dump
compadd() {
    local word found=()
    for word; do
        [[ $word == (-|--) ]] && break
        [[ $word == -[a-zA-Z]#[OAD]* ]] && { builtin compadd "$@"; return }
    done
    builtin compadd -O found "$@"
    print -rl -- $found >> $ZDOTDIR/offered
    builtin compadd "$@"
}
ask() { zle complete-word; print -n $'\x01end\x01' }
zle -N ask
bindkey '^I' ask
ready() { print -n $'\x01ready\x01'; zle -D zle-line-init }
zle -N zle-line-init ready
"#;

/// The beginnings of the IDs of two sessions, and what was said in them.
const SESSIONS: [(&str, &str); 2] = [
    ("3f2a91c4", "the retry test: it's \"flaky\""),
    ("7be01d55", "which tea"),
];

/// A home with the script of `shell` in it at `path`, two files and two sessions to be completed.
fn prepared(shell: &str, path: &str) -> Home {
    let home = Home::new();
    let script = home.marvin().args(["completions", shell]).run().expect(0);
    home.write(path, script.text());
    home.write("work/prompt file.txt", "x");
    home.write("work/folder/x", "x");
    let server = Server::always(says("Fine."));
    for (id, text) in SESSIONS {
        let id = format!("{id}-0000-4000-8000-000000000000");
        let asked = home.ask(&server.url("/v1"), text);
        asked.args(["--session-id", &id]).run().expect(0);
    }
    home
}

/// Runs a shell with `marvin` on its path and without the caller's settings.
fn shell(home: &Home, program: &Path, args: &[&str]) -> Done {
    let own = Path::new(env!("CARGO_BIN_EXE_marvin")).parent().unwrap();
    let mut path = OsString::from(own);
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    Marvin::new(program)
        .args(args.iter().copied())
        .dir(&home.work())
        .env("PATH", path)
        .env("HOME", home.path())
        .env("MARVIN_CONFIG_DIR", home.config())
        .env("TERM", "xterm")
        .env("LC_ALL", "C.UTF-8")
        .run()
        .expect(0)
}

/// What both shells offer; `complete` returns it for a line.
fn offers_what_it_should(complete: &dyn Fn(&str) -> Vec<String>) {
    let all = |line: &str, expected: &[&str]| assert_eq!(complete(line), expected, "{line}");
    all("marvin --promp", &["--prompt", "--prompt-file"]);
    all("marvin --non-interactive --provider gro", &["groq"]);
    all("marvin --tools fi", &["files", "files-notes"]);
    all("marvin compl", &["completions"]);
    all("marvin completions z", &["zsh"]);
    all("marvin tool git_bl", &["git_blame"]);
    all("marvin tool git_ch", &["git_checkout"]);
    all("marvin --working-dir fol", &["folder"]);
    all("marvin --prompt-file promp", &["prompt file.txt"]);
    assert!(complete("marvin tool ").len() > 15);
    all("marvin --provider groq completions f", &["fish"]);
    all("marvin help pri", &["privacy"]);
    all("marvin help mo", &["models"]);
    all("marvin help doc", &["doctor"]);
    let ids = SESSIONS.map(|(id, _)| id);
    all("marvin --resume ", &ids);
    all("marvin --fork-session -r 7", &ids[1..]);
    all("marvin export 3", &ids[..1]);
    all("marvin sessions --delete 3f2a91c4 7", &ids[1..]);
    all("marvin sessions --del", &["--delete"]);
    assert!(!complete("marvin sessions ").contains(&ids[0].to_owned()));
    assert!(complete("marvin --resume --promp").contains(&"--prompt".to_owned()));
    assert!(!complete("marvin tool git_blame git_b").contains(&"git_blame".to_owned()));
}

#[test]
fn zsh_completes() {
    let Some(zsh) = program("zsh") else {
        return skip("zsh_completes", "zsh is not installed");
    };
    let home = prepared("zsh", "work/zsh/_marvin");
    home.write("work/zsh/.zshrc", ZSHRC);
    let driver = home.write("driver", ZSH);
    let driver = driver.to_str().unwrap();
    offers_what_it_should(&|line| {
        home.write("work/zsh/offered", "");
        shell(&home, &zsh, &["-f", driver, line]);
        let mut offered: Vec<String> = home
            .read("work/zsh/offered")
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| line.trim_end_matches(['=', '/']).replace("\\ ", " "))
            .collect();
        offered.sort();
        offered.dedup();
        offered
    });
}

#[test]
fn fish_completes() {
    let Some(fish) = program("fish") else {
        return skip("fish_completes", "fish is not installed");
    };
    let home = prepared("fish", ".config/fish/completions/marvin.fish");
    let described = ["-c", "complete -C $argv[1]", "marvin --resume 3"];
    let output = shell(&home, &fish, &described);
    assert_eq!(output.text(), "3f2a91c4\tthe retry test: it's \"flaky\"\n");
    offers_what_it_should(&|line| {
        let output = shell(&home, &fish, &["-c", "complete -C $argv[1]", line]);
        assert_eq!(output.errors(), "", "{line}");
        let mut offered: Vec<String> = output
            .text()
            .lines()
            .map(|line| line.split('\t').next().unwrap_or_default())
            .map(|word| word.trim_end_matches('/').replace("\\ ", " "))
            .collect();
        offered.sort();
        offered
    });
}

/// Gives a program text on standard input; status, output, errors.
fn pipe(program: &Path, args: &[&str], text: &str) -> (bool, String, String) {
    use std::io::Write as _;
    let mut child = Command::new(program)
        .args(args)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (
        output.status.success(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn bash_loads_the_completions_and_completes() {
    let Some(bash) = program("bash") else {
        return skip("bash_completes", "bash is not installed");
    };
    let home = Home::new();
    let script = run(&home, &["completions", "bash"]).expect(0);
    let (fine, _, errors) = pipe(&bash, &["-n"], script.text());
    assert!(fine && errors.is_empty(), "{errors}");
    let dir = Path::new(env!("CARGO_BIN_EXE_marvin"))
        .parent()
        .unwrap()
        .display()
        .to_string();
    write(&home.work().join("prompt file.txt"), "x");
    let complete = |text: &[&str]| -> Vec<String> {
        let line: Vec<String> = text.iter().map(|word| format!("'{word}'")).collect();
        let asked = format!(
            "PATH=\"{dir}:$PATH\"\ncd '{}'\n{}\nCOMP_WORDS=(marvin {})\nCOMP_CWORD={}\n_marvin\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\ncomplete -p marvin >&2\n",
            home.work().display(),
            script.text(),
            line.join(" "),
            text.len()
        );
        let (fine, out, errors) = pipe(&bash, &["--norc"], &asked);
        assert!(fine && errors.contains("_marvin marvin"), "{errors}");
        out.lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(complete(&["--promp"]), ["--prompt", "--prompt-file"]);
    let pro = complete(&["--pro"]);
    assert_eq!(pro, ["--prompt", "--prompt-file", "--provider"]);
    assert!(complete(&["--provider", "gro"]) == ["groq"]);
    assert!(complete(&["--non-interactive", "--tools", "fi"]).contains(&"files".to_owned()));
    assert_eq!(complete(&["compl"]), ["completions"]);
    assert_eq!(complete(&["completions", "z"]), ["zsh"]);
    assert_eq!(complete(&["tool", "git_bl"]), ["git_blame"]);
    assert_eq!(complete(&["--prompt-file", "promp"]), ["prompt file.txt"]);
}

#[test]
fn the_manual_page_renders_and_names_everything() {
    let home = Home::new();
    let page = run(&home, &["man"]).expect(0);
    assert!(
        page.text().is_ascii(),
        "groff takes bytes above 127 for Latin-1"
    );
    let Some(groff) = program("groff") else {
        return skip(
            "the_manual_page_renders_and_names_everything",
            "groff is not installed",
        );
    };
    let (fine, text, errors) = pipe(
        &groff,
        &["-man", "-Tutf8", "-ww", "-P-cbou", "-rLL=200n"],
        page.text(),
    );
    assert!(fine && errors.is_empty(), "{errors}");
    let help = run(&home, &["--help"]).expect(0);
    let flags = help
        .text()
        .split_whitespace()
        .filter(|word| word.starts_with("--"));
    let plain = |text: &str| text.replace(['\u{2010}', '\u{2212}'], "-");
    let text = plain(&text);
    for flag in flags {
        let flag = flag.trim_matches(|c: char| !c.is_alphanumeric() && c != '-');
        assert!(text.contains(flag), "{flag} is not in the manual page");
    }
    text.assert_has(&[
        "completions",
        "EXIT STATUS",
        "MARVIN_CONFIG_DIR",
        "OPENAI_API_KEY",
        "\u{2026}",
    ]);
}
