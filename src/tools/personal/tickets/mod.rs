//! Module `tickets`: tasks in Markdown files, in the format of the `tk` script.

pub(crate) mod command;
mod parent;
pub(crate) mod show;
pub(crate) mod tree;
mod words;

use std::path::Path;

use self::command::{Caller, TicketCli};
use self::show::Filter;
use crate::base::params::choice;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::MARVIN_TICKET;
use crate::formats::front_matter::{NewTicket, tags};
use crate::store::tickets::graph::Graph;
use crate::store::tickets::location::TicketLocation;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::ticket_gate::TicketGate;
use crate::tools::engine::tool::tools;
use crate::tools::{MEMORY, READ};

choice! {
    /// Kinds of tickets.
    pub(crate) enum TicketKind {
        /// Something is broken.
        Bug = "bug",
        /// Something new.
        Feature = "feature",
        /// Something to do.
        Task = "task",
        /// Something that has parts.
        Epic = "epic",
        /// Something that must be done too.
        Chore = "chore",
    }
}

choice! {
    /// What a list is limited to.
    pub(crate) enum TicketStatus {
        /// Everything.
        Any = "",
        /// Not started.
        Open = "open",
        /// In progress.
        InProgress = "in_progress",
        /// Done.
        Closed = "closed",
    }
}

tools! { "tickets";
    /// Create a ticket.
    create_ticket(CreateTicket; MEMORY.seconds(10).service("tk cli").planned_as_written()) {
        /// short title
        title: String, example: "Mend the login form";
        /// details
        description: String = "";
        /// kind
        ticket_type: TicketKind = "task", alias: &["type"];
        /// 0 highest
        priority: i64 = 2, min: 0, max: 4;
        /// comma-separated
        tags: String = "";
        /// parent id
        parent: String = "";
    } => create, says ["create a ticket {title}", "new ticket {title}"];

    /// Mark in progress.
    ticket_start(TicketStart; MEMORY.seconds(5).service("tk cli").idempotent()) {
        /// ticket id
        ticket_id: String, example: "ma-x1y2", alias: &["id"];
    } => start, says ["start ticket {ticket_id}"];

    /// Mark closed.
    ticket_close(TicketClose; MEMORY.seconds(5).service("tk cli").idempotent()) {
        /// ticket id
        ticket_id: String, example: "ma-x1y2", alias: &["id"];
    } => close, says ["close ticket {ticket_id}"];

    /// Append a timestamped note.
    ticket_add_note(TicketAddNote; MEMORY.seconds(5).service("tk cli").planned_as_written()) {
        /// ticket id
        ticket_id: String, example: "ma-x1y2", alias: &["id"];
        /// text
        note: String, example: "Waits for the new server", alias: &["text"];
    } => note;

    /// Show a ticket.
    ticket_show(TicketShow; READ.seconds(10).service("tk cli")) {
        /// ticket id
        ticket_id: String, example: "ma-x1y2", alias: &["id"];
    } => shown, says ["show ticket {ticket_id}"];

    /// List tickets.
    ticket_list(TicketList; READ.seconds(10).service("tk cli")) {
        /// filter
        status: TicketStatus = "";
        /// one tag
        tags: String = "", alias: &["tag"];
    } => list, says ["list tickets", "my tickets"];

    /// Dependency tree.
    ticket_dep_tree(TicketDepTree; READ.seconds(10).service("tk cli")) {
        /// ticket id
        ticket_id: String, example: "ma-x1y2", alias: &["id"];
    } => dep_tree, says ["dependencies of ticket {ticket_id}"];

    /// Make one ticket depend on another.
    ticket_add_dep(TicketAddDep; MEMORY.seconds(5).service("tk cli").idempotent()) {
        /// ticket id
        ticket_id: String, example: "ma-x1y2", alias: &["id"];
        /// must be closed first
        depends_on: String, example: "ma-z3w4";
    } => add_dep;

    /// Pass arguments to the ticket program.
    tk(TkArgs; MEMORY.coding().in_children().seconds(10).service("tk cli").destructive()) {
        /// e.g. create "title" -t epic --parent ID -d "..."; start ID; close ID; add-note ID "text"; show ID; ls --status=open; blocked; dep-tree ID
        args: String, example: "ls --status=open";
    } => pass;
}

/// The tickets of this session: the project's in coding mode, else the user's own.
fn ticket_cli(ctx: &ToolContext) -> Outcome<TicketCli<'_>> {
    let session = &ctx.session;
    let (place, current) = match session.project() {
        Some(root) => (
            TicketLocation::from(&session.env, root.path()).check_inside()?,
            root.path().to_owned(),
        ),
        None => {
            let profile = session.paths.profile(&session.profile())?;
            let dir = profile.dir().to_owned();
            (
                TicketLocation::own(&session.env, profile.tickets(), &dir),
                dir,
            )
        }
    };
    // The profile's folder is created with its first file.
    let current = if current.is_dir() {
        current
    } else {
        "/".into()
    };
    Ok(TicketCli {
        location: place,
        current,
        env: &session.env,
        clock: &session.clock,
        stop: &ctx.stop,
    })
}

fn create(ctx: &ToolContext, args: CreateTicket) -> Outcome<String> {
    let cli = ticket_cli(ctx)?;
    // Who works for a ticket thinks its own through, by whatever tool it creates it.
    if MARVIN_TICKET.read(&ctx.session.env).is_some() {
        ModelCaller(ctx).before_create()?;
    }
    let new = NewTicket {
        title: args.title.trim().to_owned(),
        description: args.description,
        kind: args.ticket_type.word().to_owned(),
        priority: args.priority,
        tags: tags(&args.tags),
        parent: parent::of_new(&cli.location, cli.env, &args.parent)?,
        assignee: cli.git_name(),
        ..NewTicket::default()
    };
    let id = crate::store::tickets::change::create(&cli.location, new, cli.clock)?;
    let gate = ctx.session.modules.get::<TicketGate>();
    gate.pass();
    gate.created(&id);
    let text = show::show(&cli.location.open()?, &id, cli.stop)?;
    Ok(format!("Created ticket {id}\n\n{text}"))
}

fn start(ctx: &ToolContext, args: TicketStart) -> Outcome<String> {
    moved(ctx, &args.ticket_id, "in_progress")
}

fn close(ctx: &ToolContext, args: TicketClose) -> Outcome<String> {
    moved(ctx, &args.ticket_id, "closed")
}

fn moved(ctx: &ToolContext, id: &str, status: &str) -> Outcome<String> {
    let cli = ticket_cli(ctx)?;
    let id =
        crate::store::tickets::change::set_status(&cli.location.open()?, id, status, cli.stop)?;
    Ok(format!("Updated {id} -> {status}"))
}

fn note(ctx: &ToolContext, args: TicketAddNote) -> Outcome<String> {
    let cli = ticket_cli(ctx)?;
    let folder = cli.location.open()?;
    let id = crate::store::tickets::change::add_note(
        &folder,
        &args.ticket_id,
        &args.note,
        cli.clock,
        cli.stop,
    )?;
    Ok(format!("Note added to {id}"))
}

fn shown(ctx: &ToolContext, args: TicketShow) -> Outcome<String> {
    let cli = ticket_cli(ctx)?;
    show::show(&cli.location.open()?, &args.ticket_id, cli.stop)
}

fn list(ctx: &ToolContext, args: TicketList) -> Outcome<String> {
    let cli = ticket_cli(ctx)?;
    let filter = Filter {
        status: args.status.word().to_owned(),
        tag: args.tags.trim().to_owned(),
        ..Filter::default()
    };
    let lines = if cli.location.is_new() {
        String::new()
    } else {
        show::list(&cli.location.open()?, &filter, cli.stop)?
    };
    Ok(if lines.is_empty() {
        "No tickets.".to_owned()
    } else {
        lines
    })
}

fn dep_tree(ctx: &ToolContext, args: TicketDepTree) -> Outcome<String> {
    let cli = ticket_cli(ctx)?;
    command::draw(&cli.location.open()?, &args.ticket_id, false, cli.stop)
}

fn add_dep(ctx: &ToolContext, args: TicketAddDep) -> Outcome<String> {
    let cli = ticket_cli(ctx)?;
    let folder = cli.location.open()?;
    let no_circle = |id: &str, dep: &str| {
        let graph = Graph::new(folder.load(cli.stop)?);
        let reason = match (id == dep, graph.reaches(dep, id)) {
            (true, _) => format!("{id} cannot depend on itself."),
            (_, true) => format!("{dep} depends on {id} already, so that would be a circle."),
            (false, false) => return Ok(()),
        };
        Err(Problem::refused(reason).next("Look at the trees of both with ticket_dep_tree."))
    };
    let (id, dep) = (&args.ticket_id, &args.depends_on);
    let done = crate::store::tickets::change::add_dep(&folder, id, dep, no_circle, cli.stop)?;
    Ok(if done.changed {
        format!("Added dependency: {} -> {}", done.id, done.other)
    } else {
        format!("{} depends on {} already.", done.id, done.other)
    })
}

/// A model as the caller: no typed notes, no editor, and the first ticket is sent back.
struct ModelCaller<'a>(&'a ToolContext);

impl Caller for ModelCaller<'_> {
    fn note(&mut self) -> Outcome<Option<String>> {
        Ok(None)
    }

    fn edit(&mut self, _: &Path) -> Outcome<bool> {
        Ok(false)
    }

    fn before_create(&mut self) -> Outcome<()> {
        let session = &self.0.session;
        // A reviewer, who must not change anything, reports through tickets and is not held up.
        if session.policy.readonly {
            return Ok(());
        }
        // A direct call is a process of its own, so there would never be a second attempt.
        if self.0.approval.is_user_invoked() && MARVIN_TICKET.read(&session.env).is_none() {
            return Ok(());
        }
        session.modules.get::<TicketGate>().first()
    }
}

fn pass(ctx: &ToolContext, args: TkArgs) -> Outcome<String> {
    let mut words = shlex::split(&args.args).ok_or_else(|| {
        Problem::input("A quotation mark in the arguments has no partner.")
            .next("Close it, or put a backslash before it.")
    })?;
    if matches!(words.first().map(String::as_str), Some("tk" | "ticket")) {
        words.remove(0);
    }
    let policy = &ctx.session.policy;
    if policy.readonly && policy.depth > 0 && !command::is_reading(&words) {
        return Err(Problem::refused(
            "This sub-agent is read-only: it reads tickets, and changes none.",
        )
        .next(format!("It has: {}.", command::READING.join(", ")))
        .next("Report what you would change instead."));
    }
    let output = ticket_cli(ctx)?.run(&words, &mut ModelCaller(ctx));
    let text = format!("{}{}", output.out, output.err);
    if output.status != 0 {
        let text = text.trim_end().trim_start_matches("Error: ");
        return Err(Problem::input(text));
    }
    if words
        .iter()
        .find(|word| *word != "super")
        .is_some_and(|word| word == "create")
    {
        let gate = ctx.session.modules.get::<TicketGate>();
        gate.pass();
        // It prints the id of the ticket and nothing else.
        if let Some(id) = output.out.split_whitespace().next() {
            gate.created(id);
        }
    }
    Ok(if text.is_empty() {
        "Nothing to show.".to_owned()
    } else {
        text
    })
}
