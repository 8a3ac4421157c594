//! The tools of a session as a text that a model wrote must fit them.

use crate::reply::aliases::{KnownTool, KnownTools, ValueType};
use crate::reply::catalogue::{Catalogue, STOP, TOOL_SEARCH};

impl KnownTools {
    /// The tools of a catalogue and the two of the flow.
    pub(crate) fn of(catalogue: &Catalogue) -> Self {
        let known = |name: &str| {
            let inputs = catalogue.inputs(name);
            let is_text = |kind: &str| ValueType::of(kind) == ValueType::Text;
            let mut texts = inputs
                .iter()
                .filter(|input| input.is_required && is_text(input.kind));
            KnownTool {
                name: name.to_owned(),
                first_text: texts.next().map(|input| input.name.clone()),
                parameters: Some(
                    inputs
                        .iter()
                        .map(|input| (input.name.clone(), ValueType::of(input.kind)))
                        .collect(),
                ),
            }
        };
        let names = catalogue.names().chain([STOP, TOOL_SEARCH]);
        Self::new(names.map(known).collect())
    }
}
