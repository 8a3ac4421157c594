//! Renders HTML with lynx, from standard input: lynx itself fetches nothing.

use std::time::Duration;

use crate::base::problem::Outcome;
use crate::formats::address::Address;
use crate::proc::capture::KeepLimits;
use crate::proc::child::{ProgramSpec, Stdin};
use crate::proc::child_env::command_env;
use crate::proc::program::find_program;
use crate::tools::engine::context::ToolContext;

/// Time limit; a page of a megabyte takes a fraction of a second.
const RUN_TIMEOUT: Duration = Duration::from_secs(6);
/// Maximum bytes of text that are kept.
const MAX_TEXT_BYTES: usize = 20 << 20;

/// `html`, fetched from `address`, as lynx renders it; `None` when lynx is missing or fails.
///
/// # Errors
/// `Cancelled`.
pub(super) fn render(ctx: &ToolContext, html: &str, address: &Address) -> Outcome<Option<String>> {
    let env = &ctx.session.env;
    let Some(program) = find_program("lynx", env) else {
        return Ok(None);
    };
    let words = [
        "-cfg=/dev/null",
        "-stdin",
        "-dump",
        "-nolist",
        "-nonumbers",
        "-width=120",
        "-force_html",
        "-assume_charset=utf-8",
        "-display_charset=utf-8",
    ];
    let mut vars = command_env(env);
    // Neither the user's lynx settings nor anything that gives it network access.
    vars.retain(|(name, _)| {
        !name.starts_with("LC_") && !matches!(name.as_str(), "LANG" | "LANGUAGE" | "HOME" | "TERM")
    });
    vars.push(("LC_ALL".to_owned(), "C.UTF-8".to_owned()));
    vars.push(("HOME".to_owned(), "/nonexistent".to_owned()));
    let mut run = ProgramSpec::new(program, words, vars);
    // Before the page's own declarations, so that it wins: the bytes are UTF-8 by now.
    let before = format!("<meta charset=\"utf-8\"><base href=\"{address}\">\n");
    run.stdin = Stdin::Bytes([before.as_bytes(), html.as_bytes()].concat());
    run.limit = RUN_TIMEOUT;
    run.stdout = KeepLimits::first(MAX_TEXT_BYTES);
    let output = match run.run(&ctx.stop) {
        Ok(output) => output.unless_cancelled()?,
        Err(problem) if problem.is_cancelled() => return Err(problem),
        Err(_) => return Ok(None),
    };
    // The status does not depend on the text: an error page is shown with status 1.
    let text = resolve_refresh(tidy(&output.stdout.text()), address);
    Ok((output.code.is_some() && !output.timed_out && !text.is_empty()).then_some(text))
}

/// The first line may contain a meta refresh target, which lynx resolves against its temporary file: it is resolved against `address`.
fn resolve_refresh(text: String, address: &Address) -> String {
    let (line, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let Some((when, file)) = line.split_once("): file://localhost") else {
        return text;
    };
    if !when.starts_with("REFRESH(") {
        return text;
    }
    let place = match file.split_once("/lynxXXXX") {
        Some((_, file)) => file.split_once('/').map_or("", |(_, place)| place),
        None => file,
    };
    let is_own = place.starts_with('L') && place.ends_with("TMP.html");
    match address.join(place) {
        Ok(next) if !is_own && !place.is_empty() => format!("{when}): {next}\n{rest}"),
        _ => rest.trim_start().to_owned(),
    }
}

/// The text without the common left margin and without runs of empty lines.
pub(super) fn tidy(text: &str) -> String {
    let lines = || text.lines().map(str::trim_end);
    let margin = lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.len() - line.trim_start_matches(' ').len())
        .min()
        .unwrap_or_default();
    let mut out = String::with_capacity(text.len());
    let mut empty = false;
    for line in lines() {
        if line.is_empty() {
            empty = !out.is_empty();
            continue;
        }
        if empty {
            out.push('\n');
        }
        empty = false;
        let kept = line.get(margin..).unwrap_or(line);
        out.extend(kept.chars().filter(|c| *c == '\t' || !c.is_control()));
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use crate::formats::address::Address;

    #[test]
    fn a_page_that_leads_on_names_no_file_of_ours() {
        let address = Address::parse("https://a.test/b/c").unwrap();
        let text = |line: &str| super::resolve_refresh(format!("{line}\n\nmoved"), &address);
        for (file, wanted) in [
            ("/next?x", "REFRESH(0 sec): https://a.test/next?x\n\nmoved"),
            (
                "/tmp/lynxXXXX3837NK/d/n.html",
                "REFRESH(0 sec): https://a.test/b/d/n.html\n\nmoved",
            ),
            ("/tmp/lynxXXXXYQHKZy/L3536-5136TMP.html", "moved"),
        ] {
            assert_eq!(
                text(&format!("REFRESH(0 sec): file://localhost{file}")),
                wanted
            );
        }
        for other in [
            "REFRESH(5 sec): https://b.test/",
            "a): file://localhost/x",
            "",
        ] {
            assert_eq!(text(other), format!("{other}\n\nmoved"));
        }
    }

    #[test]
    fn margins_and_empty_lines_are_taken_away() {
        let text = "\n\n      Title\n\n\n   a  b\u{1b}[1m  \n\n     - c\n";
        assert_eq!(super::tidy(text), "   Title\n\na  b[1m\n\n  - c");
        assert_eq!(super::tidy(" \n\n"), "");
    }
}
