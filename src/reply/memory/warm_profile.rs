//! What is always known about the user: facts, and standing instructions. No model is asked.

use std::collections::VecDeque;

use crate::base::problem::Outcome;
use crate::base::template::fill;
use crate::base::text::clip;
use crate::reply::prompts;
use crate::reply::scratch::{ScratchCache, WARM_PROFILE};
use crate::reply::trace::Trace;
use crate::store::memory::{Branch, MemoryStore};

/// Characters of the facts, and of the instructions.
const USER_CHARS: usize = 1_200;
const DIRECTIVE_CHARS: usize = 600;
/// Nodes looked at: places without facts of their own lead to those that have some.
const MAX_VISITS: usize = 400;

/// The block for the system message, from the cache if nothing has changed; empty when nothing is known, or it cannot be read.
pub(crate) fn render(store: &MemoryStore, scratch: &ScratchCache, trace: &Trace) -> String {
    if let Some(block) = scratch.get(WARM_PROFILE) {
        return block;
    }
    let epoch = scratch.epoch();
    match block(store, trace) {
        Ok(block) => {
            scratch.put(epoch, WARM_PROFILE, block.clone());
            block
        }
        Err(problem) => {
            trace.detail("memory", || format!("no warm profile: {}", problem.what));
            String::new()
        }
    }
}

fn block(store: &MemoryStore, trace: &Trace) -> Outcome<String> {
    let user = branch(store, Branch::User, USER_CHARS)?;
    let directives = branch(store, Branch::Directives, DIRECTIVE_CHARS)?;
    let sections = [
        (prompts::WARM_USER, &user),
        (prompts::WARM_DIRECTIVES, &directives),
    ];
    let sections = sections.into_iter().filter(|(_, facts)| !facts.is_empty());
    let sections: Vec<String> = sections
        .map(|(prompt, facts)| fill(prompt, &[("facts", facts)]))
        .collect();
    if !sections.is_empty() {
        trace.line(format!(
            "🪴 Warm profile: {} user chars, {} directive chars",
            user.chars().count(),
            directives.chars().count()
        ));
    }
    Ok(sections.join("\n\n"))
}

/// The facts of a branch, level by level and the most used first, up to `max` characters; the one that does not fit is cut.
fn branch(store: &MemoryStore, branch: Branch, max: usize) -> Outcome<String> {
    let mut out = String::new();
    let mut room = max;
    let mut queue: VecDeque<_> = store.node(branch.id())?.into_iter().collect();
    let mut visits = 0;
    while let Some(node) = queue.pop_front() {
        visits += 1;
        let data = node.data.trim();
        if !data.is_empty() {
            let separator = usize::from(!out.is_empty());
            let Some(left) = room.checked_sub(separator).filter(|left| *left > 0) else {
                break;
            };
            if separator > 0 {
                out.push('\n');
            }
            let chars = data.chars().count();
            if chars > left {
                // The sign for the cut takes a character itself.
                out.push_str(&clip(data, left.saturating_sub(1)));
                break;
            }
            out.push_str(data);
            room = left - chars;
        }
        if visits + queue.len() < MAX_VISITS {
            queue.extend(store.children(&node.id)?);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::settings::TraceLevel;
    use crate::reply::testing::{TraceLines, memory_store};
    use std::sync::Arc;

    fn append(store: &MemoryStore, branch: Branch, fact: &str) {
        store.append(branch.id(), &[fact.to_owned()]).unwrap();
    }

    #[test]
    fn facts_and_instructions_are_shown_and_kept_until_they_change() {
        let dir = tempfile::tempdir().unwrap();
        let store = memory_store(dir.path());
        let (scratch, lines) = (ScratchCache::default(), Arc::<TraceLines>::default());
        let trace = Trace::new(TraceLevel::Brief, lines.clone());
        assert_eq!(render(&store, &scratch, &trace), "");
        assert_eq!(
            scratch.get(WARM_PROFILE).as_deref(),
            Some(""),
            "nothing is an answer too"
        );
        append(&store, Branch::User, "Lives in Bristol");
        append(&store, Branch::Directives, "Use metric units");
        append(&store, Branch::World, "The lighthouse was built in 1871");
        scratch.remove(WARM_PROFILE);
        let block = render(&store, &scratch, &trace);
        let order = [
            "shared in prior conversations",
            "Lives in Bristol",
            "Standing instructions from the user",
            "Use metric units",
        ];
        let places: Vec<usize> = order.iter().map(|part| block.find(part).unwrap()).collect();
        assert!(places.is_sorted() && !block.contains("1871"), "{block}");
        assert_eq!(render(&store, &scratch, &trace), block);
        assert_eq!(
            lines.take(),
            ["🪴 Warm profile: 16 user chars, 16 directive chars"]
        );
    }

    #[test]
    fn what_does_not_fit_is_cut_and_ends_the_block() {
        let dir = tempfile::tempdir().unwrap();
        let store = memory_store(dir.path());
        append(&store, Branch::User, &"é".repeat(1_190));
        let facts = ["Likes thukpa and much else".to_owned()];
        store
            .create(Branch::User.id(), "Food", "what they eat", &facts)
            .unwrap();
        let text = branch(&store, Branch::User, USER_CHARS).unwrap();
        assert_eq!(text.chars().count(), USER_CHARS);
        assert!(text.ends_with("\nLikes th…"), "{text}");
    }
}
