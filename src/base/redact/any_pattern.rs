//! Which of many patterns may find something in a text, in one pass over its bytes.
//!
//! A `RegexSet` says it exactly, and takes megabytes here: an automaton for every letter of every script, the same backwards, and a cache for each thread that
//! ever used it. Most texts hold nothing, and what may hold something is looked at by the pattern itself. So here one letter that is not ASCII is as good as
//! another, and all threads share one cache.

use std::sync::{Mutex, PoisonError};

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{Compiler, Config, WhichCaptures};
use regex_automata::{Input, MatchKind, PatternID, PatternSet};
use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, Hir, HirKind, Look, Repetition,
};

/// What the states that texts have led to may take. When it is full, it is emptied.
const CACHE_BYTES: usize = 2 << 20;
/// A class of at most so many characters that are not ASCII is looked for as it is.
const MAX_EXACT_CHARS: usize = 8;

pub(super) struct AnyPattern {
    /// All patterns in one automaton.
    automaton: DFA,
    /// The states that texts have led to, for whichever thread.
    cache: Mutex<Cache>,
}

/// The numbers of the patterns that may find something.
pub(super) struct MatchingPatterns(PatternSet);

impl AnyPattern {
    /// `None` when one of the patterns is wrong.
    pub(super) fn new(sources: impl Iterator<Item = &'static str>) -> Option<Self> {
        let wide = sources.map(|source| Some(widened(&regex_syntax::parse(source).ok()?)));
        let wide: Vec<Hir> = wide.collect::<Option<_>>()?;
        let config = Config::new().which_captures(WhichCaptures::None);
        let config = config.utf8(false);
        let states = Compiler::new().configure(config).build_many_from_hir(&wide);
        let config = DFA::config().match_kind(MatchKind::All);
        let automaton = DFA::builder()
            .configure(config.cache_capacity(CACHE_BYTES))
            .build_from_nfa(states.ok()?)
            .ok()?;
        let cache = Mutex::new(automaton.create_cache());
        Some(Self { automaton, cache })
    }

    /// Which patterns may find something in `text`, and all that do; `None` when that cannot be said.
    pub(super) fn matching(&self, text: &str) -> Option<MatchingPatterns> {
        let mut found = PatternSet::new(self.automaton.pattern_len());
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        self.automaton
            .try_which_overlapping_matches(&mut cache, &Input::new(text), &mut found)
            .ok()?;
        Some(MatchingPatterns(found))
    }
}

impl MatchingPatterns {
    pub(super) fn contains(&self, pattern: usize) -> bool {
        PatternID::new(pattern).is_ok_and(|pattern| self.0.contains(pattern))
    }
}

/// What finds all that `hir` finds, by bytes: where many characters fit that are not ASCII, any do.
fn widened(hir: &Hir) -> Hir {
    let all = |parts: &[Hir]| parts.iter().map(widened).collect();
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) if is_large(class) => {
            let ascii = class.ranges().iter().filter_map(|range| {
                let start = u8::try_from(range.start()).ok().filter(u8::is_ascii)?;
                let end = u8::try_from(range.end()).unwrap_or(0x7f).min(0x7f);
                Some(ClassBytesRange::new(start, end))
            });
            let ascii = Hir::class(Class::Bytes(ClassBytes::new(ascii)));
            Hir::alternation(vec![ascii, others()])
        }
        HirKind::Repetition(repetition) => Hir::repetition(Repetition {
            sub: Box::new(widened(&repetition.sub)),
            ..*repetition
        }),
        HirKind::Capture(capture) => widened(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(all(parts)),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)),
        // Which words there are in other scripts is not known to bytes.
        HirKind::Look(look) if is_of_words(*look) => Hir::empty(),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => hir.clone(),
    }
}

/// True for whole scripts, and for all but some characters; the two cases of a letter are no more than themselves.
fn is_large(class: &ClassUnicode) -> bool {
    let ranges = class.ranges().iter();
    let others = ranges.filter(|range| !range.end().is_ascii());
    others.map(|range| range.len()).sum::<usize>() > MAX_EXACT_CHARS
}

fn is_of_words(look: Look) -> bool {
    !matches!(
        look,
        Look::Start
            | Look::End
            | Look::StartLF
            | Look::EndLF
            | Look::WordAscii
            | Look::WordAsciiNegate
    )
}

/// One or more bytes that are not ASCII.
fn others() -> Hir {
    Hir::repetition(Repetition {
        min: 1,
        max: None,
        greedy: true,
        sub: Box::new(Hir::class(Class::Bytes(ClassBytes::new([
            ClassBytesRange::new(0x80, 0xff),
        ])))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pattern_that_finds_something_is_named_whichever_thread_asks() {
        let patterns = ["(?-u:\\b)ab+", "b", "c$", "\\p{Greek}{2}d", "[éÉ]d"];
        let any = AnyPattern::new(patterns.into_iter()).unwrap();
        let found = |text: &str| -> Vec<usize> {
            let found = any.matching(text).unwrap();
            (0..6).filter(|at| found.contains(*at)).collect()
        };
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for (text, expected) in [
                        ("", vec![]),
                        ("x abb c", vec![0, 1, 2]),
                        ("xb c.", vec![1]),
                        ("λγ d", vec![]),
                        ("λγd", vec![3]),
                        ("É\u{e9}d", vec![3, 4]),
                    ] {
                        assert_eq!(found(text), expected, "{text}");
                    }
                });
            }
        });
        assert!(AnyPattern::new(["("].into_iter()).is_none());
    }
}
