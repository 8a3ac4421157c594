//! `/theme`: shows or changes the colours.

use std::sync::Arc;

use crate::app::choice::{ChoiceKind, ChoiceList, ChoiceRow, mark};
use crate::app::session::orders::Orders;
use crate::app::session::run::Run;
use crate::app::session::ui_update::UiUpdate;
use crate::app::session::worker_event::WorkerEvent;
use crate::app::theme_choice::{CurrentTheme, ThemeChoice};
use crate::base::problem::Outcome;
use crate::base::variables::MARVIN_THEME;

/// The theme that the interface begins with; `warn` gets what is wrong with the setting.
pub(in crate::app::session) fn first(run: &Run, warn: &mut dyn FnMut(String)) -> ThemeChoice {
    let choice = ThemeChoice::read(&run.context.env, warn);
    run.context.modules.get::<CurrentTheme>().set(choice);
    choice
}

/// Lists the themes, or takes another one and stores it for later sessions.
///
/// # Errors
/// There is no such theme.
pub(in crate::app::session) fn change(word: &str, run: &Run, orders: &mut Orders) -> Outcome<()> {
    if word.is_empty() {
        offer(run, orders);
        return Ok(());
    }
    let choice = ThemeChoice::parse(word)?;
    run.context.modules.get::<CurrentTheme>().set(choice);
    let later = match MARVIN_THEME.read(&run.context.env) {
        Some(_) => " MARVIN_THEME decides again in the next session.",
        None => "",
    };
    orders.remark(format!("Theme: {}.{later}", choice.name()));
    // After these words: the interface says what of the theme it cannot show.
    orders.show(UiUpdate::Theme(choice));
    let (context, inbox) = (Arc::clone(&run.context), Arc::clone(&run.inbox));
    orders.write(move || {
        if let Err(problem) = choice.store(&context.paths) {
            inbox.send(WorkerEvent::Notice(problem.one_line()));
        }
    });
    Ok(())
}

fn offer(run: &Run, orders: &mut Orders) {
    let current = run.context.modules.get::<CurrentTheme>().get();
    let widest = ThemeChoice::ALL.iter().map(|(_, name, _)| name.len()).max();
    let widest = widest.unwrap_or_default();
    let row = |(choice, name, about): &(ThemeChoice, &str, &str)| {
        let is_current = *choice == current;
        ChoiceRow {
            id: (*name).to_owned(),
            lead: mark(is_current).to_owned(),
            title: format!("{name:<widest$}  {about}"),
            is_current,
            ..ChoiceRow::default()
        }
    };
    let rows: Vec<ChoiceRow> = ThemeChoice::ALL.iter().map(row).collect();
    let lines = rows
        .iter()
        .map(|row| format!("{} {}\n", row.lead, row.title));
    let lines: String = lines.collect();
    orders.show(UiUpdate::Choose(ChoiceList {
        kind: ChoiceKind::Themes,
        rows,
        hint: String::new(),
        listing: format!("{lines}\n/theme NAME changes it, here and in later sessions.\n"),
    }));
}
