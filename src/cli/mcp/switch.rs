//! `marvin mcp enable` and `marvin mcp disable`.

use super::target;
use crate::app::settings::Settings;
use crate::base::problem::Outcome;
use crate::base::text::one_line;
use crate::cli::out::print;
use crate::mcp::config::edit;

/// `marvin mcp enable NAME [--project]`.
pub(super) fn enable(words: &[String], settings: Settings) -> Outcome<u8> {
    switch("enable", words, &settings, true)
}

/// `marvin mcp disable NAME [--project]`.
pub(super) fn disable(words: &[String], settings: Settings) -> Outcome<u8> {
    switch("disable", words, &settings, false)
}

fn switch(command: &str, words: &[String], settings: &Settings, is_enabled: bool) -> Outcome<u8> {
    let (file, name) = target::read(command, words, settings)?;
    edit::set_enabled(&file, name, is_enabled)
        .map_err(|problem| target::or_elsewhere(problem, command, (&file, name), settings))?;
    print(&format!(
        "{}d {} in {}.\n",
        crate::base::text::capitalize(command),
        one_line(name),
        file.path.display()
    ))?;
    Ok(0)
}
