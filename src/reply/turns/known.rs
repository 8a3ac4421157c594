//! The tools of a catalogue as written calls are read with.

use crate::reply::aliases::{KnownTool, KnownTools, ValueType};
use crate::reply::catalogue::{Catalogue, STOP, TOOL_SEARCH};

/// Every tool of the catalogue, and the two of the flow.
pub(crate) fn known_tools(catalogue: &Catalogue) -> KnownTools {
    let known = |name: &str| {
        let inputs = catalogue.inputs(name);
        let parameters: Vec<(String, ValueType)> = inputs
            .iter()
            .map(|input| (input.name.clone(), ValueType::of(input.kind)))
            .collect();
        let mut texts = inputs
            .iter()
            .filter(|input| input.is_required && input.kind == "string");
        KnownTool {
            name: name.to_owned(),
            parameters: Some(parameters),
            first_text: texts.next().map(|input| input.name.clone()),
        }
    };
    let names = catalogue.names().chain([STOP, TOOL_SEARCH]);
    KnownTools::new(names.map(known).collect())
}
