//! The tools of a session in the two forms that a reply needs them in.

use std::sync::{Arc, Mutex, PoisonError};

use super::aliases::{KnownTool, KnownTools, ValueType};
use super::catalogue::{Catalogue, STOP, TOOL_SEARCH};
use crate::tools::engine::context::SessionContext;

#[derive(Debug)]
pub(crate) struct SessionTools {
    pub catalogue: Catalogue,
    /// As calls that are written as text are read with.
    pub known: KnownTools,
}

/// The tools of the last reply: most replies have the same, and to read the parameters of all of them takes as long as a search of memory.
#[derive(Debug, Default)]
pub(crate) struct SessionToolsCache(Mutex<Option<Arc<SessionTools>>>);

impl SessionToolsCache {
    pub(crate) fn of(&self, session: &SessionContext) -> Arc<SessionTools> {
        let catalogue = Catalogue::new(session);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tools) = kept.as_ref()
            && tools.catalogue.is_same_as(&catalogue)
        {
            return Arc::clone(tools);
        }
        let known = known_tools(&catalogue);
        let tools = Arc::new(SessionTools { catalogue, known });
        *kept = Some(Arc::clone(&tools));
        tools
    }
}

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
