//! GitHub search through `gh` (<https://cli.github.com/manual/gh_search>), one hit per line.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::{GithubSearch, SearchType};
use crate::base::env::Env;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, ProblemKind, not_empty};
use crate::base::text::{clip, escape_controls, thousands};
use crate::base::word_list::WordList;
use crate::proc::child::{ProgramOutput, ProgramSpec};
use crate::proc::child_env::command_env;
use crate::proc::program::find_program;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::untrusted::fenced;

/// Time limit.
const RUN_TIMEOUT: Duration = Duration::from_secs(28);
/// Maximum characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 200;
/// Variables with gh's credentials and configuration; only gh gets them.
const GH_VARIABLES: WordList = WordList(
    "GH_TOKEN GITHUB_TOKEN GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN GH_HOST GH_CONFIG_DIR",
);

/// gh's own variables, and those that keep it from prompting and decorating.
pub(super) fn variables(env: &Env) -> Vec<(String, String)> {
    let fixed = [
        ("GH_PROMPT_DISABLED", "1"),
        ("GH_NO_UPDATE_NOTIFIER", "1"),
        ("NO_COLOR", "1"),
        ("GH_PAGER", "cat"),
        ("GIT_TERMINAL_PROMPT", "0"),
    ];
    let own = GH_VARIABLES
        .iter()
        .filter_map(|name| Some((name, env.get(name)?)));
    own.chain(fixed)
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// A gh call.
pub(super) fn gh(program: &Path, env: &Env, args: Vec<String>) -> ProgramSpec {
    let own = variables(env);
    let mut vars = command_env(env);
    vars.retain(|(set, _)| own.iter().all(|(name, _)| name != set));
    vars.extend(own);
    let mut run = ProgramSpec::new(program, args, vars);
    run.limit = RUN_TIMEOUT;
    // Outside the project: gh would read its repository.
    run.dir = Some("/".into());
    run
}

/// What to install, and what works without it.
fn gh_not_found() -> Problem {
    Problem::missing("The program gh was not found; searching GitHub needs it.")
        .next("Install the package gh (GitHub CLI), then sign in with \"gh auth login\".")
        .next("github_clone works without it.")
}

/// Searches GitHub and returns the hits.
///
/// # Errors
/// gh is missing, is not signed in, or refuses.
pub(super) fn search(ctx: &ToolContext, args: GithubSearch) -> Outcome<String> {
    let example = "For example: language:rust terminal";
    let query = not_empty("query", &args.query, example)?;
    if query.len() > 1_000 {
        return Err(Problem::input(
            "The query is too long; GitHub takes 256 characters.",
        ));
    }
    let env = &ctx.session.env;
    let program = find_program("gh", env).ok_or_else(gh_not_found)?;
    let words = shlex::split(query)
        .filter(|words| !words.is_empty())
        .unwrap_or_else(|| query.split_whitespace().map(str::to_owned).collect());
    let limit = args.max_results.to_string();
    let max = usize::try_from(args.max_results).unwrap_or(30);
    let run = |args: Vec<String>| gh(&program, env, args).run(&ctx.stop)?.unless_cancelled();
    let api = |what: &str| {
        let args = [
            "api",
            "-X",
            "GET",
            what,
            "-f",
            &format!("q={query}"),
            "-F",
            &format!("per_page={limit}"),
        ];
        run(args.map(str::to_owned).to_vec())
    };
    let (kind, fields) = match args.search_type {
        SearchType::Repositories => (
            "repos",
            "fullName,description,url,language,stargazersCount,updatedAt",
        ),
        SearchType::Issues => ("issues", "number,title,state,url,repository,updatedAt"),
        SearchType::Commits => ("commits", "sha,commit,repository,url"),
        SearchType::Code => ("code", "path,repository,url"),
        SearchType::Users => ("users", ""),
    };
    let output = if kind == "users" {
        api("search/users")?
    } else {
        let all = |json: bool| {
            let mut args = vec!["search", kind, "--limit", &limit];
            if json {
                args.extend(["--json", fields]);
            }
            args.push("--");
            args.into_iter()
                .map(str::to_owned)
                .chain(words.iter().cloned())
                .collect::<Vec<_>>()
        };
        let output = run(all(true))?;
        let message = output.stderr.text();
        if kind == "code"
            && (message.contains("unknown command") || message.contains("unknown flag"))
        {
            // gh before 2.24 cannot search code.
            api("search/code")?
        } else if message.contains("nknown JSON field") {
            run(all(false))?
        } else {
            output
        }
    };
    if !output.success() {
        return Err(search_failed(&output));
    }
    let text = output.stdout.text();
    let lines = lines(&text, max);
    Ok(if lines.is_empty() {
        format!(
            "Nothing found for \"{}\" among GitHub's {kind}.",
            clip(&escape_controls(query), 100)
        )
    } else {
        fenced("GitHub", &escape_controls(&lines.join("\n")))
    })
}

/// The hits in gh's output: a list, an API response, or plain lines.
pub(super) fn lines(text: &str, max: usize) -> Vec<String> {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            return lines
                .take(max)
                .map(|line| line.replace('\t', "  "))
                .collect();
        }
    };
    let list = value.as_array().or_else(|| value.get("items")?.as_array());
    list.into_iter().flatten().take(max).map(line).collect()
}

fn line(hit: &Value) -> String {
    let word = |path: &str| hit.text(path).unwrap_or_default();
    let first = |paths: &[&str]| -> String {
        let found = paths.iter().find_map(|path| hit.text(path));
        found.unwrap_or_default().to_owned()
    };
    let number = |key: &str| hit.get(key).and_then(Value::as_u64);
    let repository = first(&[
        "repository/nameWithOwner",
        "repository/fullName",
        "repository/full_name",
    ]);
    let url = first(&["html_url", "url"]);
    let one_line = |text: &str| {
        clip(
            text.lines().next().unwrap_or_default(),
            MAX_DESCRIPTION_CHARS,
        )
    };
    let parts: Vec<String> = if let Some(login) = hit.get("login").and_then(Value::as_str) {
        vec![login.to_owned(), word("type").to_owned(), url]
    } else if !word("fullName").is_empty() {
        let stars =
            number("stargazersCount").map_or_else(String::new, |n| format!("★ {}", thousands(n)));
        let day = word("updatedAt").get(..10).unwrap_or_default().to_owned();
        vec![
            word("fullName").to_owned(),
            stars,
            word("language").to_owned(),
            day,
            one_line(word("description")),
            url,
        ]
    } else if !word("sha").is_empty() && !word("commit/message").is_empty() {
        let short = word("sha").get(..9).unwrap_or(word("sha")).to_owned();
        vec![repository, short, one_line(word("commit/message")), url]
    } else if !word("path").is_empty() {
        vec![format!("{repository}:{}", word("path")), url]
    } else {
        let numbered = number("number").map_or(repository.clone(), |n| format!("{repository}#{n}"));
        let state = word("state").to_lowercase();
        let state = if state.is_empty() {
            state
        } else {
            format!("[{state}]")
        };
        vec![numbered, state, one_line(word("title")), url]
    };
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("  ")
}

/// gh's failure as a problem with the next step.
fn search_failed(output: &ProgramOutput) -> Problem {
    if output.timed_out {
        return Problem::timeout(format!("gh {}.", output.ending()));
    }
    problem(output.code, &output.stderr.text())
}

pub(super) fn problem(code: Option<i32>, message: &str) -> Problem {
    let lower = message.to_lowercase();
    let words = clip(&escape_controls(message.trim()), 500);
    if code == Some(4) || lower.contains("gh auth login") {
        Problem::new(ProblemKind::Auth, "gh is not signed in to GitHub.")
            .next("Run \"gh auth login\" once, or set GH_TOKEN.")
    } else if lower.contains("rate limit") {
        Problem::limit(format!(
            "GitHub's limit of requests is reached. gh: {words}"
        ))
        .next("Wait a minute (searches: 30 a minute, code: 10), or sign in for a higher limit.")
    } else if lower.contains("http 401") {
        Problem::new(
            ProblemKind::Auth,
            format!("GitHub refuses the sign-in of gh: {words}"),
        )
        .next("Sign in again with \"gh auth login\", or renew GH_TOKEN.")
    } else if lower.contains("http 422") || lower.contains("invalid search query") {
        Problem::input(format!("GitHub refuses the query: {words}")).next("Check its qualifiers.")
    } else if lower.contains("error connecting")
        || lower.contains("no such host")
        || lower.contains("dial tcp")
    {
        Problem::network(format!("GitHub cannot be reached: {words}"))
            .next("Check the network connection.")
    } else {
        Problem::network(format!("gh failed: {words}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hit_is_one_line() {
        let json = r#"[{"description":"A\nB","fullName":"a/b","language":"Python","stargazersCount":70000,"url":"https://g/a/b","updatedAt":"2026-08-01T00:00:00Z"}]"#;
        assert_eq!(
            lines(json, 5),
            ["a/b  ★ 70,000  Python  2026-08-01  A  https://g/a/b"]
        );
        let json = r#"[{"number":3,"title":"T","state":"OPEN","url":"u","repository":{"nameWithOwner":"a/b"}}]"#;
        assert_eq!(lines(json, 5), ["a/b#3  [open]  T  u"]);
        let json = r#"[{"sha":"0123456789abc","commit":{"message":"m\n\nx"},"repository":{"fullName":"a/b"},"url":"u"}]"#;
        assert_eq!(lines(json, 5), ["a/b  012345678  m  u"]);
        let json = r#"{"items":[{"login":"ann","html_url":"u","type":"User"},{"path":"x.rs","repository":{"full_name":"a/b"},"html_url":"v","sha":"1"}]}"#;
        assert_eq!(lines(json, 5), ["ann  User  u", "a/b:x.rs  v"]);
        assert_eq!(lines("a\tb\n\nc\td\n", 1), ["a  b"]);
        assert_eq!(lines("[]", 5), [] as [&str; 0]);
        assert_eq!(lines("", 5), [] as [&str; 0]);
        assert_eq!(lines("[{\"fullName\":null}, 3]", 5).len(), 2);
    }

    #[test]
    fn a_gh_failure_names_the_next_step() {
        let kind = |code, message: &str| problem(Some(code), message).kind;
        assert_eq!(kind(4, "To get started"), ProblemKind::Auth);
        assert_eq!(kind(1, "HTTP 401: Bad credentials"), ProblemKind::Auth);
        assert_eq!(
            kind(1, "HTTP 403: API rate limit exceeded"),
            ProblemKind::Limit
        );
        assert_eq!(kind(1, "Invalid search query \"x\"."), ProblemKind::Input);
        assert_eq!(
            kind(1, "error connecting to api.github.com"),
            ProblemKind::Network
        );
    }
}
