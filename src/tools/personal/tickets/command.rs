//! The command line of the `tk` script for Marvin's tickets: words in, output and exit status out.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{parent, show, tree, words};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::proc::capture::KeepLimits;
use crate::proc::child::{ProgramSpec, ResourceLimits, Stdin};
use crate::proc::child_env::git_env;
use crate::store::tickets::change::{self, STATUSES};
use crate::store::tickets::folder::{Folder, pick};
use crate::store::tickets::graph::Graph;
use crate::store::tickets::location::TicketLocation;

/// Timeout and resource limits of a `query` filter.
const FILTER_TIMEOUT: Duration = Duration::from_secs(20);
const FILTER_CEILING: ResourceLimits = ResourceLimits {
    cpu: FILTER_TIMEOUT,
    memory: 4 << 30,
};

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandOutput {
    pub out: String,
    pub err: String,
    pub status: u8,
}

impl CommandOutput {
    fn line(text: String) -> Self {
        Self {
            out: text + "\n",
            ..Self::default()
        }
    }

    fn failed(text: &str) -> Self {
        Self {
            out: format!("{text}\n"),
            status: 1,
            ..Self::default()
        }
    }

    fn usage(text: &str) -> Self {
        Self {
            err: format!("Usage: {text}\n"),
            status: 1,
            ..Self::default()
        }
    }
}

impl From<String> for CommandOutput {
    fn from(out: String) -> Self {
        Self {
            out,
            ..Self::default()
        }
    }
}

/// What a command needs from its caller.
pub(crate) trait Caller {
    /// The text of a note that is not among the words; `None` when there is no user to ask.
    fn note(&mut self) -> Outcome<Option<String>>;
    /// Opens the file in an editor; false when that is not possible.
    fn edit(&mut self, path: &Path) -> Outcome<bool>;
    /// Called before a ticket is created.
    fn before_create(&mut self) -> Outcome<()>;
}

/// What the commands work with.
pub(crate) struct TicketCli<'a> {
    pub location: TicketLocation,
    /// Where git is asked for the user's name.
    pub current: PathBuf,
    pub env: &'a Env,
    pub clock: &'a Clock,
    pub stop: &'a Cancel,
}

/// The output of `help`.
pub(crate) const HELP: &str = "tk - minimal ticket system with dependencies, in Markdown files

Usage: tk <command> [words]

  create [TITLE] [options]   make a ticket, print its id
      -d, --description TEXT   --design TEXT        --acceptance TEXT
      -p, --priority 0-4       -t, --type bug|feature|task|epic|chore
      -a, --assignee NAME      --external-ref REF   --parent ID   --tags a,b
  start|close|reopen ID      move a ticket on
  status ID STATUS           open, in_progress or closed
  dep ID DEP, undep ID DEP   ID waits for DEP, or no longer
  dep tree [--full] ID       what ID waits for
  dep cycle                  dependencies that go in circles
  link ID ID [ID...]         tie tickets together; unlink ID ID
  ls [--status=S] [-a NAME] [-T TAG]   all tickets (also: list)
  ready, blocked             what can be worked on, what waits for what
  closed [--limit=N]         what was closed last
  show ID                    a ticket and what it has to do with others
  edit ID                    open it in the editor
  add-note ID [TEXT]         a note with the time (or from standard input)
  query [FILTER]             tickets as JSON lines, filtered by jq
  super COMMAND              the built-in command
  help                       this text

IDs may be shortened to any part that only one ticket has.
Tickets are in .tickets/ here or in a folder above, or in TICKETS_DIR.
";

/// The commands that change no ticket.
pub(super) const READING: [&str; 10] = [
    "ls",
    "list",
    "ready",
    "blocked",
    "closed",
    "show",
    "dep-tree",
    "dep tree",
    "dep cycle",
    "query",
];

/// Whether the words are a command that changes no ticket.
pub(super) fn is_reading(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    let first = words.find(|word| *word != "super");
    match first {
        None | Some("help" | "-h" | "--help") => true,
        Some("dep") => matches!(words.next(), Some("tree" | "cycle")),
        Some(word) => READING.contains(&word),
    }
}

impl TicketCli<'_> {
    /// Runs one command. Its errors have the script's wording.
    pub(crate) fn run(&self, words: &[String], caller: &mut dyn Caller) -> CommandOutput {
        self.attempt(words, caller).unwrap_or_else(|problem| {
            let mut err = format!("Error: {}\n", problem.what);
            if problem.what.starts_with("Unknown option") {
                err = format!("{}\n", problem.what);
            }
            for hint in &problem.next {
                err.push_str(hint);
                err.push('\n');
            }
            CommandOutput {
                err,
                status: 1,
                ..CommandOutput::default()
            }
        })
    }

    fn attempt(&self, words: &[String], caller: &mut dyn Caller) -> Outcome<CommandOutput> {
        let Some((command, rest)) = words.split_first() else {
            return Ok(HELP.to_owned().into());
        };
        match command.as_str() {
            "help" | "--help" | "-h" => Ok(HELP.to_owned().into()),
            "super" if rest.is_empty() => Ok(CommandOutput::usage("tk super <command> [words]")),
            "super" => self.attempt(rest, caller),
            "create" => self.create(rest, caller),
            "start" | "close" | "reopen" | "status" => self.status(command, rest),
            "dep" => self.dep(rest),
            "dep-tree" => self.dep_tree(rest),
            "undep" => self.undep(rest),
            "link" => self.link(rest),
            "unlink" => self.unlink(rest),
            "ls" | "list" => {
                let (filter, _) = words::filter(rest)?;
                show::list(&self.folder()?, &filter, self.stop).map(CommandOutput::from)
            }
            "ready" | "blocked" => {
                let (filter, _) = words::filter(rest)?;
                let waiting = command == "blocked";
                show::to_do(&self.folder()?, waiting, &filter, self.stop).map(CommandOutput::from)
            }
            "closed" => {
                let (filter, limit) = words::filter(rest)?;
                let limit = limit.unwrap_or(20);
                show::closed(&self.folder()?, limit, &filter, self.stop).map(CommandOutput::from)
            }
            "show" => match rest {
                [] => Ok(CommandOutput::usage("tk show <id>")),
                [id, ..] => show::show(&self.folder()?, id, self.stop).map(CommandOutput::from),
            },
            "edit" => self.edit(rest, caller),
            "add-note" => self.add_note(rest, caller),
            "query" => self.query(rest),
            _ => Ok(CommandOutput {
                err: format!(
                    "Unknown command: {}\n{HELP}",
                    crate::base::text::escape_controls(command)
                ),
                status: 1,
                ..CommandOutput::default()
            }),
        }
    }

    fn folder(&self) -> Outcome<Folder> {
        self.location.open()
    }

    fn create(&self, words: &[String], caller: &mut dyn Caller) -> Outcome<CommandOutput> {
        let (mut new, assignee) = words::create(words)?;
        caller.before_create()?;
        new.parent = parent::of_new(&self.location, self.env, &new.parent)?;
        new.assignee = assignee.unwrap_or_else(|| self.git_name());
        change::create(&self.location, new, self.clock).map(CommandOutput::line)
    }

    /// The name from git's configuration as the caller's git would use it; empty if unset.
    pub(crate) fn git_name(&self) -> String {
        let mut env = git_env(self.env);
        let own = self
            .env
            .all()
            .filter(|(name, _)| name.starts_with("GIT_CONFIG"));
        env.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let mut git = ProgramSpec::new("git", ["config", "user.name"], env);
        git.dir = Some(self.current.clone());
        git.limit = Duration::from_secs(5);
        match git.run(self.stop) {
            Ok(done) if done.success() => done.stdout.text().trim().to_owned(),
            Ok(_) | Err(_) => String::new(),
        }
    }

    fn status(&self, command: &str, words: &[String]) -> Outcome<CommandOutput> {
        let (id, status) = match (command, words) {
            ("start", [id, ..]) => (id, "in_progress"),
            ("close", [id, ..]) => (id, "closed"),
            ("reopen", [id, ..]) => (id, "open"),
            ("status", [id, status, ..]) => (id, status.as_str()),
            ("status", _) => {
                let valid = STATUSES.join("|");
                return Ok(CommandOutput::usage(&format!("tk status <id> <{valid}>")));
            }
            _ => return Ok(CommandOutput::usage(&format!("tk {command} <id>"))),
        };
        let folder = self.folder()?;
        let id = change::set_status(&folder, id, status, self.stop)?;
        Ok(CommandOutput::line(format!("Updated {id} -> {status}")))
    }

    fn dep(&self, words: &[String]) -> Outcome<CommandOutput> {
        match words {
            [word, rest @ ..] if word == "tree" => self.dep_tree(rest),
            [word, ..] if word == "cycle" => self.dep_cycle(),
            [id, dep, ..] => {
                let done = change::add_dep(&self.folder()?, id, dep, |_, _| Ok(()), self.stop)?;
                Ok(CommandOutput::line(if done.changed {
                    format!("Added dependency: {} -> {}", done.id, done.other)
                } else {
                    "Dependency already exists".to_owned()
                }))
            }
            _ => Ok(CommandOutput::usage(
                "tk dep <id> <dependency-id>\n       tk dep tree [--full] <id>\n       tk dep cycle",
            )),
        }
    }

    fn dep_tree(&self, words: &[String]) -> Outcome<CommandOutput> {
        let full = words.iter().any(|word| word == "--full");
        let mut plain = words.iter().filter(|word| *word != "--full");
        match plain.next_back() {
            None => Ok(CommandOutput::usage("tk dep tree [--full] <id>")),
            Some(id) => draw(&self.folder()?, id, full, self.stop).map(CommandOutput::from),
        }
    }

    fn dep_cycle(&self) -> Outcome<CommandOutput> {
        let graph = Graph::new(self.folder()?.load(self.stop)?);
        let mut out = String::new();
        for (n, circle) in graph.cycles().iter().enumerate() {
            if n > 0 {
                out.push('\n');
            }
            let ids: Vec<&str> = circle.iter().map(|at| graph.id(*at)).collect();
            let first = ids.first().copied().unwrap_or_default();
            out.push_str(&format!(
                "Cycle {}: {} -> {first}\n",
                n + 1,
                ids.join(" -> ")
            ));
            for ticket in circle.iter().filter_map(|at| graph.tickets.get(*at)) {
                let (id, status) = (&ticket.id, &ticket.status);
                out.push_str(&format!("  {id:<8} [{status}] {}\n", ticket.title));
            }
        }
        if out.is_empty() {
            out.push_str("No dependency cycles found\n");
        }
        Ok(out.into())
    }

    fn undep(&self, words: &[String]) -> Outcome<CommandOutput> {
        let [id, dep, ..] = words else {
            return Ok(CommandOutput::usage("tk undep <id> <dependency-id>"));
        };
        let done = change::remove_dep(&self.folder()?, id, dep, self.stop)?;
        Ok(if done.changed {
            CommandOutput::line(format!(
                "Removed dependency: {} -/-> {}",
                done.id, done.other
            ))
        } else {
            CommandOutput::failed("Dependency not found")
        })
    }

    fn link(&self, words: &[String]) -> Outcome<CommandOutput> {
        if words.len() < 2 {
            return Ok(CommandOutput::usage("tk link <id> <id> [id...]"));
        }
        let (links, tickets) = change::link(&self.folder()?, words, self.stop)?;
        Ok(CommandOutput::line(if links > 0 {
            format!("Added {links} link(s) between {tickets} tickets")
        } else {
            "All links already exist".to_owned()
        }))
    }

    fn unlink(&self, words: &[String]) -> Outcome<CommandOutput> {
        let [id, other, ..] = words else {
            return Ok(CommandOutput::usage("tk unlink <id> <target-id>"));
        };
        let done = change::unlink(&self.folder()?, id, other, self.stop)?;
        Ok(if done.changed {
            CommandOutput::line(format!("Removed link: {} <-> {}", done.id, done.other))
        } else {
            CommandOutput::failed("Link not found")
        })
    }

    fn edit(&self, words: &[String], caller: &mut dyn Caller) -> Outcome<CommandOutput> {
        let [id, ..] = words else {
            return Ok(CommandOutput::usage("tk edit <id>"));
        };
        let folder = self.folder()?;
        let path = folder.file(&folder.resolve(id)?);
        Ok(if caller.edit(&path)? {
            CommandOutput::default()
        } else {
            CommandOutput::line(format!("Edit ticket file: {}", path.display()))
        })
    }

    fn add_note(&self, words: &[String], caller: &mut dyn Caller) -> Outcome<CommandOutput> {
        let Some((id, text)) = words.split_first() else {
            return Ok(CommandOutput::usage("tk add-note <id> [note text]"));
        };
        let folder = self.folder()?;
        // Before asking the user for the text.
        folder.resolve(id)?;
        let text = match text {
            [] => caller.note()?.ok_or_else(|| {
                Problem::input("no note provided").next("Give its text behind the id.")
            })?,
            words => words.join(" "),
        };
        let id = change::add_note(&folder, id, &text, self.clock, self.stop)?;
        Ok(CommandOutput::line(format!("Note added to {id}")))
    }

    fn query(&self, words: &[String]) -> Outcome<CommandOutput> {
        let lines = show::json_lines(&self.folder()?, self.stop)?;
        let Some(filter) = words.first().filter(|filter| !filter.trim().is_empty()) else {
            return Ok(lines.into());
        };
        let mut jq = ProgramSpec::new(
            "jq",
            ["-c".to_owned(), format!("select({filter})")],
            crate::proc::child_env::command_env(self.env),
        );
        jq.stdin = Stdin::Bytes(lines.into_bytes());
        jq.limit = FILTER_TIMEOUT;
        jq.ceiling = Some(FILTER_CEILING);
        jq.stdout = KeepLimits::first(256 << 20);
        let output = jq.run(self.stop).map_err(|problem| {
            problem.next(
                "Filters need the program jq (package jq); without a filter query needs none.",
            )
        })?;
        let output = output.unless_cancelled()?;
        let status = u8::from(!output.success());
        let mut err = output.stderr.text();
        // The kernel enforces the CPU limit with a signal.
        if output.timed_out || output.signal.is_some() {
            err.push_str(&format!(
                "Error: the filter did not end within {} s, or took more than {} GB of memory\n",
                FILTER_TIMEOUT.as_secs(),
                FILTER_CEILING.memory >> 30
            ));
        }
        Ok(CommandOutput {
            out: output.stdout.text(),
            err,
            status,
        })
    }
}

/// The dependency tree of the ticket with the id `given`, or the only one whose id contains it.
///
/// # Errors
/// None or several do.
pub(crate) fn draw(folder: &Folder, given: &str, full: bool, stop: &Cancel) -> Outcome<String> {
    let graph = Graph::new(folder.load(stop)?);
    let id = pick(given.trim(), graph.tickets.iter().map(|t| t.id.as_str()))?;
    let root = graph.index_of(id).unwrap_or_default();
    Ok(tree::draw(&graph, root, full))
}
