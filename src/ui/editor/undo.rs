//! Undo and redo. A typed word or a run of deletions is one step.

use std::collections::VecDeque;
use std::ops::Range;

/// Maximum number of steps.
const MAX_STEPS: usize = 1000;
/// Maximum bytes of text in all steps; the newest step is always kept.
const MAX_BYTES: usize = 32 << 20;

/// Whether an edit joins the previous step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditMerge {
    /// Typed: continues the word being typed.
    Typed,
    /// Deleted character by character: continues the deletion.
    Erased,
    /// A step of its own.
    Whole,
}

/// One edit: at `offset`, `inserted` replaced `removed`.
#[derive(Clone, Debug)]
pub(super) struct EditStep {
    pub(super) offset: usize,
    pub(super) removed: String,
    pub(super) inserted: String,
    pub(super) cursor: usize,
    merge: EditMerge,
}

impl EditStep {
    fn bytes(&self) -> usize {
        self.removed.len() + self.inserted.len()
    }
}

/// The undo and redo stacks.
#[derive(Clone, Debug, Default)]
pub(super) struct UndoLog {
    done: VecDeque<EditStep>,
    undone: Vec<EditStep>,
    bytes: usize,
    sealed: bool,
}

impl UndoLog {
    /// Records an edit before it is made: `inserted` will replace `removed` at `range`.
    pub(super) fn note(
        &mut self,
        range: Range<usize>,
        removed: &str,
        inserted: &str,
        cursor: usize,
        merge: EditMerge,
    ) {
        self.undone.clear();
        let sealed = std::mem::take(&mut self.sealed);
        let joined = !sealed
            && self
                .done
                .back_mut()
                .is_some_and(|last| join(last, &range, removed, inserted, merge));
        self.bytes += removed.len() + inserted.len();
        if !joined {
            self.done.push_back(EditStep {
                offset: range.start,
                removed: removed.to_owned(),
                inserted: inserted.to_owned(),
                cursor,
                merge,
            });
        }
        while self.done.len() > MAX_STEPS || (self.bytes > MAX_BYTES && self.done.len() > 1) {
            self.bytes -= self.done.pop_front().map_or(0, |step| step.bytes());
        }
    }

    /// Ends the current step: the next edit starts a new one.
    pub(super) fn seal(&mut self) {
        self.sealed = true;
    }

    pub(super) fn undo(&mut self) -> Option<&EditStep> {
        let step = self.done.pop_back()?;
        self.bytes -= step.bytes();
        self.sealed = true;
        self.undone.push(step);
        self.undone.last()
    }

    pub(super) fn redo(&mut self) -> Option<&EditStep> {
        let step = self.undone.pop()?;
        self.bytes += step.bytes();
        self.sealed = true;
        self.done.push_back(step);
        self.done.back()
    }

    /// Clears the redo stack.
    pub(super) fn forget_undone(&mut self) {
        self.undone.clear();
    }
}

/// Merges the edit into `last` if they are one step.
fn join(
    last: &mut EditStep,
    range: &Range<usize>,
    removed: &str,
    inserted: &str,
    merge: EditMerge,
) -> bool {
    if last.merge != merge {
        return false;
    }
    match merge {
        EditMerge::Whole => false,
        EditMerge::Typed => {
            let word_begins = last.inserted.ends_with(char::is_whitespace)
                && !inserted.starts_with(char::is_whitespace);
            let joins = removed.is_empty()
                && range.start == last.offset + last.inserted.len()
                && !word_begins
                && !inserted.contains('\n');
            if joins {
                last.inserted.push_str(inserted);
            }
            joins
        }
        EditMerge::Erased if range.end == last.offset => {
            last.removed.insert_str(0, removed);
            last.offset = range.start;
            true
        }
        EditMerge::Erased if range.start == last.offset => {
            last.removed.push_str(removed);
            true
        }
        EditMerge::Erased => false,
    }
}
