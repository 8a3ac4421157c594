//! The tools that may be called in a reply, and those that are shown.

use super::router::Routing;
use crate::base::word_list::WordList;
use crate::reply::tools::catalogue::{Catalogue, STOP, TOOL_SEARCH};

/// Shown to a small model when nothing could be picked: what most questions need.
const CORE: WordList = WordList(
    "web_search browse_web weather_forecast wiki_summary search_notes read_note write_note \
     set_alarm timer_start calendar_list_upcoming places_text_search get_directions convert_units",
);
const TRACE_NAMES: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AllowList {
    /// Picks, carried-over ones, those of the plan, `stop` and `tool_search`.
    names: Vec<String>,
    /// Those that are shown when nothing could be picked before others.
    wanted: Vec<String>,
    label: String,
    is_everything: bool,
}

impl AllowList {
    /// The list for a reply. `carried` failed in the last reply, `planned` are named by the plan; `has_search` is false when `tool_search` is hidden.
    pub(crate) fn new(
        routing: &Routing,
        carried: &[String],
        planned: &[String],
        has_search: bool,
    ) -> Self {
        let mut names = routing.names.clone();
        let mut label = routing.strategy.to_owned();
        for (list, mark) in [(planned, "+plan"), (carried, "+carryover")] {
            let before = names.len();
            for name in list {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
            if names.len() > before {
                label.push_str(mark);
            }
        }
        names.push(STOP.to_owned());
        if has_search {
            names.push(TOOL_SEARCH.to_owned());
        }
        Self {
            names,
            wanted: [planned, carried].concat(),
            label,
            is_everything: routing.is_everything,
        }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// How the tools were picked.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    pub(crate) fn trace_line(&self) -> String {
        let shown: Vec<&str> = self
            .names
            .iter()
            .take(TRACE_NAMES)
            .map(String::as_str)
            .collect();
        let more = match self.names.len().saturating_sub(TRACE_NAMES) {
            0 => String::new(),
            more => format!(" (+{more} more)"),
        };
        format!(
            "🔧 Tools ({}): {} selected — {}{more}",
            self.label,
            self.names.len(),
            shown.join(", ")
        )
    }

    /// The tools that are shown: all that may be called, but for a small model that would get everything at most `max`.
    pub(crate) fn advertised(
        &self,
        is_small: bool,
        max: usize,
        catalogue: &Catalogue,
        query: &str,
    ) -> Vec<String> {
        if !(self.is_everything && is_small) {
            return self.names.clone();
        }
        let own: Vec<&String> = (self.names.iter())
            .filter(|name| matches!(name.as_str(), STOP | TOOL_SEARCH))
            .collect();
        let ranked = catalogue.rank(query, max);
        let order = self
            .wanted
            .iter()
            .map(String::as_str)
            .chain(ranked)
            .chain(CORE.iter());
        let mut shown: Vec<String> = Vec::new();
        for name in order.filter(|name| self.contains(name)) {
            if shown.len() + own.len() >= max {
                break;
            }
            if !shown.iter().any(|own| own == name) {
                shown.push(name.to_owned());
            }
        }
        shown.extend(own.into_iter().cloned());
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use crate::reply::testing::catalogue;

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    fn routing(names: &[&str]) -> Routing {
        Routing {
            names: strings(names),
            strategy: "llm",
            is_everything: false,
        }
    }

    #[test]
    fn the_list_is_picks_plan_carry_over_and_the_tools_of_the_flow() {
        let list = AllowList::new(
            &routing(&["read_note"]),
            &strings(&["tree"]),
            &strings(&["read_note", "web_search"]),
            true,
        );
        assert_eq!(
            list.names(),
            ["read_note", "web_search", "tree", "stop", "tool_search"]
        );
        assert_eq!(
            list.trace_line(),
            "🔧 Tools (llm+plan+carryover): 5 selected — read_note, web_search, tree, stop, tool_search"
        );
        let none = AllowList::new(&routing(&[]), &[], &[], false);
        assert_eq!(none.names(), ["stop"]);
        assert_eq!(none.trace_line(), "🔧 Tools (llm): 1 selected — stop");
        let same = AllowList::new(&routing(&["tree"]), &strings(&["tree"]), &[], false);
        assert_eq!(same.trace_line(), "🔧 Tools (llm): 2 selected — tree, stop");
    }

    #[test]
    fn a_small_model_is_not_shown_everything() {
        let catalogue = catalogue(None);
        let everything = Routing {
            names: catalogue.names().map(str::to_owned).collect(),
            strategy: "all",
            is_everything: true,
        };
        let list = AllowList::new(
            &everything,
            &strings(&["git_log"]),
            &strings(&["tree"]),
            true,
        );
        assert_has(
            &list.trace_line(),
            &[&format!("{} selected", catalogue.len() + 2)],
        );
        assert!(
            list.trace_line()
                .ends_with(&format!("(+{} more)", catalogue.len() - 6))
        );
        assert_eq!(list.advertised(false, 24, &catalogue, "x"), list.names());
        let shown = list.advertised(true, 24, &catalogue, "convert units");
        assert!(shown.len() <= 24, "{shown:?}");
        assert_eq!(shown[..3], ["tree", "git_log", "convert_units"]);
        assert!(shown.ends_with(&strings(&["stop", "tool_search"])));
        assert!(
            shown.contains(&"web_search".to_owned())
                && !shown.contains(&"steam_player_stats".to_owned())
        );
        assert_eq!(
            list.advertised(true, 4, &catalogue, "x"),
            ["tree", "git_log", "stop", "tool_search"]
        );
        assert!(
            list.contains("steam_player_stats"),
            "it may be called all the same"
        );
        let picked = AllowList::new(&routing(&["tree"]), &[], &[], true);
        assert_eq!(picked.advertised(true, 4, &catalogue, "x"), picked.names());
    }

    #[test]
    fn the_core_tools_exist() {
        let catalogue = catalogue(None);
        for name in CORE.iter() {
            assert!(catalogue.find(name).is_some(), "{name}");
        }
    }
}
