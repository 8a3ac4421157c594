//! The documents of a run as a child's prompt shows them.

use super::Run;
use super::places::DocumentKind;
use crate::base::marks::enclosed;
use crate::store::project_documents;

/// Above the documents: what is here is not to be paid for twice.
const NOTE: &str = "As they are in the files: do not read again what is here. A mark says where one is cut, and where to read on.";

/// The documents of the run that are there, as far as there is room for them.
pub(crate) fn part(run: &Run, kinds: &[DocumentKind]) -> String {
    let paths: Vec<String> = kinds
        .iter()
        .map(|kind| run.places.document(*kind))
        .collect();
    let names: Vec<&str> = paths.iter().map(String::as_str).collect();
    let found = project_documents::documents(run.root(), &names);
    let enclose = |(path, text): &(&str, String)| {
        let path = format!("path=\"{path}\"");
        enclosed("document", &path, text)
    };
    let parts: Vec<String> = found.iter().map(enclose).collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!("## Documents\n{NOTE}\n{}", parts.join("\n\n")),
    }
}
