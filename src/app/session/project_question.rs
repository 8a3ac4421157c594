//! The question whether what the project brings along may act: asked before the first message is sent, and by `/trust`.

use std::sync::Arc;

use super::orders::Orders;
use super::run::Run;
use super::ui_update::UiUpdate;
use super::worker_event::WorkerEvent;
use crate::app::choice::{ChoiceKind, ChoiceList, ChoiceRow, THIS_SESSION, TRUST};
use crate::app::extensions;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::escape_controls;
use crate::mcp::session::SessionServers;
use crate::store::trusted_projects::{ProjectFolder, TrustDecision, TrustItem, TrustKind, decide};

/// What choosing a row does. The first one is where the marker stands: nothing is agreed to by a key that was meant for something else.
pub(in crate::app) const NOT_NOW: &str = "no";
const NEVER: &str = "never";

#[derive(Default)]
pub(in crate::app::session) struct ProjectQuestion {
    /// The question as it is open, and what it is about: messages wait for the answer.
    open: Option<(ChoiceList, Vec<TrustItem>)>,
}

impl ProjectQuestion {
    pub(in crate::app::session) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Somebody is there to answer: asks, if there is something to ask about.
    pub(in crate::app::session) fn begin(&mut self, run: &Run, orders: &mut Orders) {
        let session = &run.context;
        if session.policy.depth > 0 || extensions::is_refused(session) {
            return;
        }
        let all = extensions::items_of(session);
        let items = extensions::unused(session, all.clone());
        if let (false, Some(folder)) = (items.is_empty(), session.trust.folder()) {
            let list = question(folder, &items, run);
            self.open = Some((list.clone(), all));
            orders.show(UiUpdate::Offer(list));
        } else if !extensions::is_folder_trusted(session) {
            // There is nothing to ask about.
            extensions::fault_of(session)
                .into_iter()
                .for_each(|fault| orders.system(fault));
        }
    }

    /// `/trust`, with an answer or without.
    pub(in crate::app::session) fn command(
        &mut self,
        rest: &str,
        run: &Run,
        orders: &mut Orders,
    ) -> Outcome<()> {
        let session = &run.context;
        let folder = session.trust.folder().ok_or_else(|| {
            Problem::missing("This conversation began in no project, so there is nothing to trust.")
                .next("Start Marvin in the folder of a project.")
        })?;
        match rest.trim() {
            "" => {
                let items = extensions::items_of(session);
                if items.is_empty() {
                    orders.system(extensions::fault_of(session).unwrap_or_else(|| {
                        "This project brings nothing along that acts by itself: no hooks, skills or MCP servers.".to_owned()
                    }));
                    return Ok(());
                }
                let list = question(folder, &items, run);
                self.open = Some((list.clone(), items));
                orders.show(UiUpdate::Choose(list));
                Ok(())
            }
            word @ (NOT_NOW | TRUST | THIS_SESSION | NEVER) => {
                self.choose(word, run, orders);
                Ok(())
            }
            other => Err(Problem::input(format!(
                "/trust takes yes, session, no or never, not \"{}\".",
                escape_controls(other)
            ))),
        }
    }

    /// The user chose a row.
    pub(in crate::app::session) fn choose(&mut self, id: &str, run: &Run, orders: &mut Orders) {
        let session = &run.context;
        let (Some(folder), open) = (session.trust.folder(), self.open.take()) else {
            return;
        };
        // What has changed since it was shown was not agreed to.
        let items = match &open {
            Some((_, shown)) => shown.clone(),
            None => extensions::items_of(session),
        };
        let keep = |decision: TrustDecision, orders: &mut Orders| {
            let (session, folder) = (Arc::clone(session), folder.clone());
            let (items, inbox) = (items.clone(), Arc::clone(&run.inbox));
            orders.write(move || {
                let kept = decide(&session.paths, &session.clock, &folder, decision, &items);
                let notice = kept.unwrap_or_else(|problem| Some(problem.one_line()));
                notice
                    .into_iter()
                    .for_each(|words| inbox.send(WorkerEvent::Notice(words)));
            });
        };
        match id {
            TRUST | THIS_SESSION => {
                if id == TRUST {
                    keep(TrustDecision::Trusted, orders);
                }
                session.trust.agree(&items);
                session.skills.forget();
                extensions::open_project(session, &mut |words| orders.system(words));
                servers_follow(run);
                orders.remark(match id {
                    TRUST => "This project is trusted.",
                    _ => "What this project brings along is used in this session.",
                });
            }
            NEVER => {
                keep(TrustDecision::Refused, orders);
                extensions::close_project(session);
                servers_follow(run);
                orders.remark(
                    "What this project brings along stays unused. marvin trust changes that.",
                );
            }
            NOT_NOW => self.closed(run, orders),
            // A row that only shows something.
            _ => {
                if let Some((list, items)) = open {
                    orders.show(UiUpdate::Choose(list.clone()));
                    self.open = Some((list, items));
                }
            }
        }
        orders.send_next();
    }

    /// The user closed the question: not in this session.
    pub(in crate::app::session) fn closed(&mut self, run: &Run, orders: &mut Orders) {
        self.open = None;
        extensions::close_project(&run.context);
        servers_follow(run);
        orders.remark(
            "What this project brings along is not used in this session. /trust asks again.",
        );
        orders.send_next();
    }
}

/// The project's servers are opened or ended by what the user said.
fn servers_follow(run: &Run) {
    let servers = run.context.modules.get::<SessionServers>();
    servers.trust_changed(&run.context);
}

fn question(folder: &ProjectFolder, items: &[TrustItem], run: &Run) -> ChoiceList {
    let shared = folder.shared_with();
    let known = run.context.trust.known(&run.context.paths);
    let known = known.of(folder).filter(|known| known.hooks.is_some());
    let is_new = |item: &TrustItem| {
        let before = known.filter(|_| item.kind == TrustKind::Hook);
        before.is_some_and(|before| !before.hook_lines.contains(&item.words))
    };
    let row = |id: &str, title: &str| ChoiceRow {
        id: id.to_owned(),
        title: title.to_owned(),
        ..ChoiceRow::default()
    };
    let mut rows = vec![row(NOT_NOW, "Not in this session")];
    if shared.is_none() {
        rows.push(row(TRUST, "Trust this project: use this from now on"));
    }
    rows.push(row(THIS_SESSION, "Use this in this session only"));
    rows.push(row(NEVER, "No, and do not ask again"));
    let answers = rows.len();
    let path = escape_controls(&folder.path.display().to_string());
    let fault = extensions::fault_of(&run.context);
    rows.extend(fault.map(|fault| ChoiceRow {
        lead: format!("{} ", TrustKind::Hook.word()),
        title: fault.replacen(&format!("{path}/"), "", 1),
        ..ChoiceRow::default()
    }));
    for item in items {
        rows.push(ChoiceRow {
            lead: format!("{} ", item.kind.word()),
            title: escape_controls(&item.words),
            note: match is_new(item) {
                true => "new".to_owned(),
                false => String::new(),
            },
            ..ChoiceRow::default()
        });
    }
    let mut about = format!("{path} brings this along, which acts with your rights");
    let has_changed = known.is_some_and(|known| {
        let mut hooks = items.iter().filter(|item| item.kind == TrustKind::Hook);
        hooks.any(|hook| known.hooks.as_ref() != Some(&hook.digest))
    });
    if has_changed {
        about.push_str("; its hooks have changed since you agreed");
    }
    if let Some(why) = &shared {
        about.push_str(&format!("; it cannot be trusted for good, because {why}"));
    }
    let mut listing = format!("{about}:\n");
    for (at, row) in rows.iter().enumerate() {
        let note = match row.note.is_empty() {
            true => String::new(),
            false => format!(" ({})", row.note),
        };
        match at < answers {
            true => listing.push_str(&format!("{:>3}  {}\n", at + 1, row.title)),
            false => listing.push_str(&format!("     {}{}{note}\n", row.lead, row.title)),
        }
    }
    ChoiceList {
        kind: ChoiceKind::Trust,
        rows,
        hint: about,
        listing,
    }
}
