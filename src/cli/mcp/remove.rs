//! `marvin mcp remove`.

use super::target;
use crate::app::settings::Settings;
use crate::base::problem::Outcome;
use crate::base::text::one_line;
use crate::cli::out::print;
use crate::mcp::config::edit;

/// `marvin mcp remove NAME [--project]`.
pub(super) fn run(words: &[String], settings: Settings) -> Outcome<u8> {
    let (file, name) = target::read("remove", words, &settings)?;
    edit::remove(&file, name)
        .map_err(|problem| target::or_elsewhere(problem, "remove", (&file, name), &settings))?;
    print(&format!(
        "Removed {} from {}.\n",
        one_line(name),
        file.path.display()
    ))?;
    Ok(0)
}
