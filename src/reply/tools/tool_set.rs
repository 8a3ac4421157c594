//! Which tools may be called in a reply, and which of them the model is shown.

use super::catalogue::{STOP, TOOL_SEARCH};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolSet {
    allowed: Vec<String>,
    advertised: Vec<String>,
}

impl ToolSet {
    /// `allowed` may be called and `advertised` is shown; `stop` is added to both, and `tool_search` when `with_search`.
    pub(crate) fn new(allowed: Vec<String>, advertised: Vec<String>, with_search: bool) -> Self {
        let mut set = Self {
            allowed,
            advertised,
        };
        set.add(STOP);
        if with_search {
            set.add(TOOL_SEARCH);
        }
        set
    }

    /// Whether the model may call it.
    pub(crate) fn allows(&self, name: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed == name)
    }

    /// What the model is shown, in order.
    pub(crate) fn advertised(&self) -> &[String] {
        &self.advertised
    }

    /// Allows and shows one more.
    pub(crate) fn add(&mut self, name: &str) {
        for list in [&mut self.allowed, &mut self.advertised] {
            if !list.iter().any(|own| own == name) {
                // The flow's own tools stay last.
                let own = list.iter().position(|own| is_own(own) && !is_own(name));
                list.insert(own.unwrap_or(list.len()), name.to_owned());
            }
        }
    }
}

fn is_own(name: &str) -> bool {
    matches!(name, STOP | TOOL_SEARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_shown_may_still_be_called_and_what_is_added_comes_last() {
        let all = ["read_note", "convert_units"].map(str::to_owned).to_vec();
        let shown = ["read_note".to_owned()].to_vec();
        let mut set = ToolSet::new(all, shown, true);
        assert_eq!(set.advertised(), ["read_note", "stop", "tool_search"]);
        assert!(set.allows("convert_units") && !set.allows("web_search"));
        set.add("convert_units");
        set.add("convert_units");
        set.add("web_search");
        assert_eq!(
            set.advertised(),
            [
                "read_note",
                "convert_units",
                "web_search",
                "stop",
                "tool_search"
            ]
        );
        assert!(set.allows("web_search"));
        let without = ToolSet::new(Vec::new(), Vec::new(), false);
        assert!(without.allows("stop") && !without.allows("tool_search"));
    }
}
