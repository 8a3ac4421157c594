//! Completion sources of both interfaces: commands, names and files of this session.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::app::model_lists::ModelLists;
use crate::app::session::commands;
use crate::app::session::files_like;
use crate::app::session::model_env::model_env;
use crate::app::theme_choice::{CurrentTheme, ThemeChoice};
use crate::llm::choose;
use crate::mcp::session::SessionServers;
use crate::store::profiles;
use crate::tools::engine::context::SessionContext;
use crate::ui::editor::complete::Sources;

/// Maximum entries of a folder that are read.
const MAX_ENTRIES: usize = 2_000;

/// How long Tab waits for files of similar names, and most of them.
const SEARCH_LIMIT: Duration = Duration::from_millis(500);
const MAX_SIMILAR: usize = 20;

pub(super) struct Candidates<'a>(pub(super) &'a SessionContext);

impl Sources for Candidates<'_> {
    fn commands(&self) -> Vec<String> {
        let typed = commands::typed().into_iter();
        let prompts = self.0.modules.get::<SessionServers>().prompts().into_iter();
        let names = typed.map(|(name, _)| name);
        names.chain(prompts.map(|row| row.call)).collect()
    }

    fn about(&self, command: &str) -> Option<Cow<'static, str>> {
        let mut typed = commands::typed().into_iter();
        if let Some((_, about)) = typed.find(|(name, _)| name == command) {
            return Some(about.into());
        }
        let prompts = self.0.modules.get::<SessionServers>().prompts();
        let row = prompts.into_iter().find(|row| row.call == command)?;
        (!row.about.is_empty()).then_some(row.about.into())
    }

    fn theme(&self) -> Option<ThemeChoice> {
        Some(self.0.modules.get::<CurrentTheme>().get())
    }

    fn profiles(&self) -> Vec<String> {
        profiles::names(&self.0.paths)
    }

    fn providers(&self) -> Vec<String> {
        choose::names().map(str::to_owned).collect()
    }

    fn models(&self, provider: &str) -> Vec<String> {
        let lists = self.0.modules.get::<ModelLists>();
        lists.names(&model_env(self.0), provider)
    }

    fn own_models(&self) -> Vec<String> {
        self.0
            .modules
            .get::<ModelLists>()
            .own_names(&model_env(self.0))
    }

    fn efforts(&self) -> Vec<String> {
        self.0.modules.get::<ModelLists>().efforts()
    }

    fn tools(&self) -> Vec<String> {
        let tools = self.0.registry().all();
        tools.iter().map(|tool| tool.name().to_owned()).collect()
    }

    fn parameters(&self, tool: &str) -> Vec<String> {
        let tool = self.0.registry().find(tool);
        let parameters = tool.map(|tool| tool.parameters()).unwrap_or_default();
        let names = parameters.into_iter().map(|one| one.name.into_owned());
        names.collect()
    }

    fn prompt_words(&self, line: &str, typed: &str) -> Vec<String> {
        let servers = self.0.modules.get::<SessionServers>();
        servers.prompt_words(line, typed)
    }

    fn paths(&self, typed: &str) -> Vec<String> {
        let servers = self.0.modules.get::<SessionServers>();
        if let Some(resources) = servers.resources_like(typed) {
            return resources;
        }
        let folder = typed.rsplit_once('/').map_or("", |(folder, _)| folder);
        let before = if typed.contains('/') {
            format!("{folder}/")
        } else {
            String::new()
        };
        let Some(place) = self.place(&before) else {
            return Vec::new();
        };
        let entries = std::fs::read_dir(place)
            .into_iter()
            .flatten()
            .filter_map(Result::ok);
        let mut names: Vec<String> = entries
            .take(MAX_ENTRIES)
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let slash = entry.path().is_dir();
                Some(format!("{before}{name}{}", if slash { "/" } else { "" }))
            })
            .filter(|name| !name.chars().any(char::is_control) && !name.ends_with(".git/"))
            .collect();
        names.sort();
        names.extend(servers.names_like(typed));
        let last = typed.strip_prefix(before.as_str()).unwrap_or(typed);
        let fits = |name: &String| {
            let name = name.strip_prefix(before.as_str()).unwrap_or(name);
            name.to_lowercase().contains(&last.to_lowercase())
        };
        if names.iter().any(fits) {
            return names;
        }
        let mut like = files_like(self.0, typed, SEARCH_LIMIT);
        like.truncate(MAX_SIMILAR);
        like
    }
}

impl Candidates<'_> {
    fn place(&self, folder: &str) -> Option<PathBuf> {
        let context = self.0;
        if let Some(rest) = folder.strip_prefix("~/") {
            return Some(Path::new(context.env.get("HOME")?).join(rest));
        }
        Some(match context.working_dir.root() {
            Some(root) => root.path().join(folder),
            None => Path::new(if folder.is_empty() { "." } else { folder }).to_owned(),
        })
    }
}
