//! Phase 4c: the pages that the program serves are checked as a browser would get them; code that is embedded in strings often breaks on the way.

use super::Run;
use super::phase::PhaseEnd;
use super::smoke_test::Trial;
use super::{evidence, files, prompts};
use crate::base::problem::Outcome;
use crate::base::variables::MARVIN_FE_ROUNDS;

/// Endings of files that are pages, or are made into pages.
const PAGES: [&str; 14] = [
    "html", "htm", "xhtml", "jinja", "jinja2", "j2", "hbs", "ejs", "erb", "tmpl", "vue", "svelte",
    "tsx", "jsx",
];
/// Endings of code in whose strings a page may be.
const CODE: [&str; 14] = [
    "rs", "py", "js", "mjs", "ts", "go", "rb", "php", "java", "kt", "cs", "c", "cpp", "ex",
];
/// What code that serves pages holds.
const SIGNS: [&str; 4] = ["<!doctype html", "<html", "<script", "text/html"];

/// Has the served pages checked, if there are any.
///
/// # Errors
/// As the smoke test.
pub(crate) fn check_front_end(run: &Run) -> Outcome<PhaseEnd> {
    if !serves_pages(run) {
        return Ok(PhaseEnd::Skipped(
            "The project serves no front-end files.".to_owned(),
        ));
    }
    let most = MARVIN_FE_ROUNDS.read(&run.ctx.session.env, &mut |words| run.warn(words));
    let trial = Trial {
        phase: "4c",
        subject: "pages",
        label: "front-end-checker",
        prompt: prompts::FRONT_END,
        marker: "FRONTEND_VALID",
        evidence: evidence::LOOKS,
        most,
    };
    trial.run(run)?;
    Ok(PhaseEnd::Done)
}

/// Whether a file outside of tests and documentation is a page, or code with a page in it.
fn serves_pages(run: &Run) -> bool {
    let (root, stop) = (run.root(), &run.ctx.stop);
    let is_product = |path: &str| {
        !files::is_test(path) && !path.starts_with("docs/") && !path.starts_with("doc/")
    };
    let has_ending = |path: &str, endings: &[&str]| {
        let ending = path
            .rsplit_once('.')
            .map(|(_, ending)| ending.to_ascii_lowercase());
        ending.is_some_and(|ending| endings.contains(&ending.as_str()))
    };
    let is_page = |path: &String| is_product(path) && has_ending(path, &PAGES);
    files::paths(root, stop).iter().any(is_page)
        || files::any_text(
            root,
            stop,
            &|path| is_product(path) && has_ending(path, &CODE),
            &|text| {
                let lower = text.to_ascii_lowercase();
                SIGNS.iter().any(|sign| lower.contains(sign))
            },
        )
}
