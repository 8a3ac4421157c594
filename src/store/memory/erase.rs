//! Forgetting: rows, facts and every copy of them below the memory folder.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::diary::Diary;
use super::file::MAX_FILE_BYTES;
use super::graph::Graph;
use super::graph_store::mutation;
use super::listeners::{Mutation, MutationAction};
use super::node::{Branch, Node, ROOT};
use super::row::DiaryRow;
use super::{DIARY, Files, GRAPH, INDEX, MemoryStore, VECTORS, apply};
use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, one_line};
use crate::base::words::{self, Phrase};
use crate::disk::atomic;

/// Largest copy that is searched; a larger one is erased unread.
const MAX_COPY_BYTES: u64 = MAX_FILE_BYTES;
const PROMPTS: &str = "prompts";
/// The files of the memory; a file whose name begins with one of theirs is a copy: set aside, half written, or by an editor.
const OWN_FILES: [&str; 4] = [DIARY, GRAPH, VECTORS, INDEX];
const LOCK: &str = "lock";
/// Folders below the memory folder that are looked into; nothing of ours is so deep.
const MAX_DEPTH: usize = 8;
/// Escapes inside escapes that are undone, such as arguments of a call, which are JSON in a string of JSON.
const MAX_ESCAPES: usize = 3;

/// What is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EraseTarget {
    /// Each entry and fact that has this word or phrase in it, as whole words.
    Word(String),
    /// The entries of a day.
    Day(Date),
    /// A node with all below it; of a branch, all below it and its facts.
    Node(String),
    All,
}

impl EraseTarget {
    /// Whether something that was said is to be forgotten.
    pub(crate) fn covers(&self, text: &str, said: Timestamp) -> bool {
        self.matcher()(text, Some(said))
    }

    /// [`EraseTarget::covers`] for many texts; when they were said need not be known.
    pub(crate) fn matcher(&self) -> impl Fn(&str, Option<Timestamp>) -> bool + use<> {
        let target = self.clone();
        let phrase = match self {
            Self::Word(word) => Phrase::new(word),
            Self::Day(_) | Self::Node(_) | Self::All => Phrase::new(""),
        };
        move |text, said| match &target {
            Self::All => true,
            Self::Word(_) => phrase.is_in(text),
            Self::Day(day) => said.is_some_and(|said| said.to_zoned(TimeZone::UTC).date() == *day),
            Self::Node(_) => false,
        }
    }
}

/// What is erased.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Erasure {
    pub rows: Vec<DiaryRow>,
    /// Facts and the path of their node.
    pub facts: Vec<(String, String)>,
    /// Paths of nodes that go.
    pub nodes: Vec<String>,
    /// Copies: files that were set aside, temporary files, an editor's, dumps of prompts.
    pub files: Vec<PathBuf>,
    /// Files below the memory folder that say the same and are nobody's that is known here: they stay.
    pub foreign: Vec<PathBuf>,
}

impl Erasure {
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
            && self.facts.is_empty()
            && self.nodes.is_empty()
            && self.files.is_empty()
    }
}

impl MemoryStore {
    /// What [`MemoryStore::erase`] would erase.
    ///
    /// # Errors
    /// There is no such node; the files cannot be read.
    pub(crate) fn preview(&self, target: &EraseTarget) -> Outcome<Erasure> {
        let mut files = self.files();
        let dir = &self.0.dir;
        let Files {
            diary,
            graph,
            touches,
            ..
        } = &mut *files;
        let diary = diary.whole.get(dir, None, |_| ())?;
        let graph = graph.get(dir, None, |graph| apply(touches, graph))?;
        Plan::new(diary, graph, target, &dir.path).map(|plan| plan.erasure)
    }

    /// The files below the memory folder beside its own: copies, then what others put there.
    pub(crate) fn other_files(&self) -> Vec<PathBuf> {
        let dir = &self.0.dir.path;
        let kind = |path: &PathBuf| FileKind::of(dir, path);
        let mut files = files_below(dir, MAX_DEPTH);
        files.retain(|path| !matches!(kind(path), FileKind::Own));
        files.shared_sort_by_key(|path| (matches!(kind(path), FileKind::Foreign), path.clone()));
        files
    }

    /// Erases what the target says, in the files and in every copy of them below the memory folder.
    ///
    /// # Errors
    /// There is no such node; the lock or the disk.
    pub(crate) fn erase(&self, target: &EraseTarget) -> Outcome<Erasure> {
        let now = self.now();
        let dir = &self.0.dir;
        let mut guard = self.files();
        // What would be removed with the lock is among what the user is told of.
        let lock = dir.lock_as_it_is()?;
        let files = &mut *guard;
        let diary = files.diary.whole.get(dir, Some(&lock), |_| ())?;
        let touches = &files.touches;
        let graph = files
            .graph
            .get(dir, Some(&lock), |graph| apply(touches, graph))?;
        let plan = Plan::new(diary, graph, target, &dir.path)?;
        let gone: HashSet<_> = plan
            .erasure
            .rows
            .iter()
            .map(|row| (row.date, row.source))
            .collect();
        let rows = diary.rows().iter().cloned();
        let rows = rows.filter(|row| !gone.contains(&(row.date, row.source)));
        diary.set_rows(rows.collect());
        // What was said until now does not come back from the log of the conversation, from which a session that crashed is remembered.
        let is_in_log = match target {
            EraseTarget::All | EraseTarget::Word(_) => true,
            EraseTarget::Day(day) => *day == now.to_zoned(TimeZone::UTC).date(),
            EraseTarget::Node(_) => false,
        };
        if is_in_log {
            diary.saved.settle(now);
        }
        let mutations = plan.apply(graph, now);
        files.touches.clear();
        files.diary.whole.write(dir, &lock)?;
        files.graph.write(dir, &lock)?;
        // What a text is about shows in its vector. They are made anew from what is left.
        files.vectors.invalidate();
        let vectors = files.vectors.path(dir);
        // The words of all rows, too.
        files.diary.indexed = None;
        let index = dir.path.join(INDEX);
        let mut kept = None;
        for file in plan.erasure.files.iter().chain([&vectors, &index]) {
            match fs::remove_file(file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    kept = kept.or(Some((file, error)));
                }
                _ => {}
            }
        }
        // Only when it is empty.
        let _ = fs::remove_dir(dir.path.join(PROMPTS));
        drop(lock);
        drop(guard);
        self.0.mutations.notify(&mutations);
        self.0.erasures.notify(std::slice::from_ref(target));
        match kept {
            None => Ok(plan.erasure),
            Some((file, error)) => Err(Problem::system(
                format!("The memory was erased, but not the copy {}", file.display()),
                error,
            )
            .next("Remove that file.")),
        }
    }
}

/// What to do for a target.
struct Plan {
    erasure: Erasure,
    /// Nodes that go with their facts; those below them move up unless they go too.
    nodes: HashSet<String>,
    /// Nodes that stay with other facts: id and facts.
    changed: Vec<(String, Vec<String>)>,
    /// Nodes whose description goes.
    descriptions: Vec<String>,
}

impl Plan {
    fn new(diary: &Diary, graph: &Graph, target: &EraseTarget, dir: &Path) -> Outcome<Self> {
        let mut plan = Self {
            erasure: Erasure::default(),
            nodes: HashSet::new(),
            changed: Vec::new(),
            descriptions: Vec::new(),
        };
        let phrase = match target {
            EraseTarget::Word(word) => Phrase::new(word),
            _ => Phrase::new(""),
        };
        if matches!(target, EraseTarget::Word(_)) && phrase.is_empty() {
            return Err(Problem::input("There is no word to forget."));
        }
        let has = |text: &str| phrase.is_in(text);
        plan.erasure.rows = diary
            .rows()
            .iter()
            .filter(|row| match target {
                EraseTarget::Word(_) => has(&row.summary) || row.topics.iter().any(|one| has(one)),
                EraseTarget::Day(day) => row.date == *day,
                EraseTarget::Node(_) => false,
                EraseTarget::All => true,
            })
            .cloned()
            .collect();
        let subtree = match target {
            EraseTarget::Node(id) => {
                if graph.get(id).is_none() {
                    return Err(Problem::missing(format!(
                        "There is no node \"{}\".",
                        one_line(&clip(id, 60))
                    ))
                    .next("marvin memory show lists the nodes with their ids."));
                }
                graph.subtree(id)
            }
            _ => HashSet::new(),
        };
        for node in graph.nodes() {
            match target {
                EraseTarget::All => plan.whole(graph, node),
                EraseTarget::Node(_) if subtree.contains(&node.id) => plan.whole(graph, node),
                EraseTarget::Word(_) if has(&node.name) && !is_fixed(node) => {
                    plan.whole(graph, node);
                }
                EraseTarget::Word(_) => plan.lines(graph, node, &has),
                EraseTarget::Node(_) | EraseTarget::Day(_) => {}
            }
        }
        plan.copies(dir, target, &phrase);
        Ok(plan)
    }

    /// The node goes; a fixed one loses its facts.
    fn whole(&mut self, graph: &Graph, node: &Node) {
        let path = path(graph, node);
        let facts = node.facts().map(|fact| (path.clone(), fact.to_owned()));
        self.erasure.facts.extend(facts);
        if !is_fixed(node) {
            self.nodes.insert(node.id.clone());
            self.erasure.nodes.push(path);
        } else if !node.data.is_empty() {
            self.changed.push((node.id.clone(), Vec::new()));
        }
    }

    /// The facts that have the word in them go, and a description that has it.
    fn lines(&mut self, graph: &Graph, node: &Node, has: &impl Fn(&str) -> bool) {
        let (gone, kept): (Vec<&str>, Vec<&str>) = node.facts().partition(|fact| has(fact));
        if !gone.is_empty() {
            let path = path(graph, node);
            let gone = gone.iter().map(|fact| (path.clone(), (*fact).to_owned()));
            self.erasure.facts.extend(gone);
            let kept = kept.iter().map(|fact| (*fact).to_owned()).collect();
            self.changed.push((node.id.clone(), kept));
        }
        let own = Branch::of_id(&node.id).map(Branch::description);
        if has(&node.description) && own != Some(node.description.as_str()) {
            let shown = format!("(description) {}", node.description);
            self.erasure.facts.push((path(graph, node), shown));
            self.descriptions.push(node.id.clone());
        }
    }

    /// Copies of what goes: all for everything, else those that hold it, and those that cannot be read. Other files that hold it are named.
    fn copies(&mut self, dir: &Path, target: &EraseTarget, phrase: &Phrase) {
        let mut needles: HashSet<String> = HashSet::new();
        match target {
            EraseTarget::Day(day) => {
                needles.insert(day.to_string());
            }
            EraseTarget::Node(_) => {
                let facts = self.erasure.facts.iter();
                needles.extend(facts.map(|(_, fact)| words::fold(fact)));
                let names = self.erasure.nodes.iter();
                let names = names.filter_map(|path| path.rsplit(" > ").next());
                needles.extend(names.map(words::fold));
            }
            EraseTarget::Word(_) | EraseTarget::All => {}
        }
        needles.remove("");
        let goes = |path: &Path| match target {
            EraseTarget::All => true,
            EraseTarget::Word(_) => holds(path, |text| phrase.is_in(text)),
            // A day is found in a moment of it, and a fact wherever it was put.
            EraseTarget::Day(_) | EraseTarget::Node(_) => holds(path, |text| {
                let text = words::fold(text);
                needles.iter().any(|needle| text.contains(needle))
            }),
        };
        let changes = !self.erasure.rows.is_empty() || !self.erasure.facts.is_empty();
        for path in files_below(dir, MAX_DEPTH) {
            match FileKind::of(dir, &path) {
                FileKind::Own => {}
                // What a text is about shows in its vector.
                FileKind::Vectors if changes || *target == EraseTarget::All => {
                    self.erasure.files.push(path);
                }
                FileKind::Vectors => {}
                // Nobody is writing: the lock is held, or this is a preview.
                FileKind::Temporary => self.erasure.files.push(path),
                FileKind::Copy if goes(&path) => self.erasure.files.push(path),
                FileKind::Foreign if goes(&path) => self.erasure.foreign.push(path),
                FileKind::Copy | FileKind::Foreign => {}
            }
        }
        self.erasure.files.sort();
        self.erasure.foreign.sort();
    }

    /// Changes the graph; returns what the listeners are told.
    fn apply(&self, graph: &mut Graph, now: Timestamp) -> Vec<Mutation> {
        let told = |graph: &Graph, action, id: &String| mutation(graph, action, id);
        let mut mutations: Vec<Mutation> = self
            .nodes
            .iter()
            .map(|id| told(graph, MutationAction::Delete, id))
            .collect();
        for (id, facts) in &self.changed {
            // They are facts of the node already: nothing can be wrong with them.
            let _ = graph.set_data(id, facts.join("\n"), now);
            mutations.push(told(graph, MutationAction::Update, id));
        }
        for id in &self.descriptions {
            if let Some(node) = graph.get_mut(id) {
                node.description.clear();
            }
        }
        graph.remove(&self.nodes);
        mutations
    }
}

fn is_fixed(node: &Node) -> bool {
    node.id == ROOT || Branch::of_id(&node.id).is_some()
}

/// `User > Pets`.
fn path(graph: &Graph, node: &Node) -> String {
    let above = graph.ancestors(&node.id);
    let names = above.iter().filter(|node| node.id != ROOT);
    let names = names.map(|node| node.name.as_str());
    names
        .chain([node.name.as_str()])
        .collect::<Vec<_>>()
        .join(" > ")
}

/// What a file below the memory folder is.
enum FileKind {
    /// The diary, the graph, the lock.
    Own,
    Vectors,
    /// Left by a process that ended while it was writing.
    Temporary,
    /// Of one of these, or a dump of a prompt.
    Copy,
    /// Somebody else put it there.
    Foreign,
}

impl FileKind {
    fn of(dir: &Path, path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Editors hide their copies behind a dot or a hash.
        let plain = name.trim_start_matches(['.', '#']);
        let parent = path.parent();
        if parent == Some(dir.join(PROMPTS).as_path()) {
            Self::Copy
        } else if parent != Some(dir) {
            Self::Foreign
        } else if name == VECTORS {
            Self::Vectors
        } else if name == LOCK || OWN_FILES.contains(&&*name) {
            Self::Own
        } else if name.starts_with('.') && name.ends_with(".tmp") {
            Self::Temporary
        } else if OWN_FILES.iter().any(|own| plain.starts_with(own)) {
            Self::Copy
        } else {
            Self::Foreign
        }
    }
}

/// The files in a folder and in those below it; a link counts as a file and is not followed.
fn files_below(dir: &Path, depth: usize) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_dir {
            files.push(entry.path());
        } else if depth > 0 {
            files.extend(files_below(&entry.path(), depth - 1));
        }
    }
    files
}

/// Whether a file has the word in it, or cannot be read.
pub(crate) fn file_has_word(path: &Path, word: &str) -> bool {
    let phrase = Phrase::new(word);
    holds(path, |text| phrase.is_in(text))
}

/// Whether a copy says it, or cannot be read.
fn holds(path: &Path, says: impl Fn(&str) -> bool) -> bool {
    match atomic::read_text(path, MAX_COPY_BYTES) {
        Ok(Some(text)) => is_said_in_json(text, says),
        _ => true,
    }
}

/// Whether a text says it that may be JSON, whole or a part of it.
pub(crate) fn is_said_in_json(mut text: String, says: impl Fn(&str) -> bool) -> bool {
    // An escaped line break is a letter beside a word until it is put in place.
    for _ in 0..MAX_ESCAPES {
        if !text.contains('\\') {
            break;
        }
        if says(&text) {
            return true;
        }
        text = unescaped(&text);
    }
    says(&text)
}

/// A JSON text with what is escaped in its strings put in place, however broken the rest is.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let mut chars = after.chars();
        let kind = chars.next();
        rest = chars.as_str();
        match kind {
            Some('u') => {
                let units = escaped_units(after);
                rest = after
                    .get(1 + 4 + 6 * units.len().saturating_sub(1)..)
                    .unwrap_or_default();
                if units.is_empty() {
                    out.push('u');
                    rest = chars.as_str();
                }
                out.extend(char::decode_utf16(units).map(|c| c.unwrap_or(' ')));
            }
            Some('n' | 't' | 'r' | 'b' | 'f') => out.push(' '),
            Some(other) => out.push(other),
            None => {}
        }
    }
    out.push_str(rest);
    out
}

/// The code units of `uXXXX\uXXXX…` at the beginning of a text.
fn escaped_units(text: &str) -> Vec<u16> {
    let mut units = Vec::new();
    let mut rest = text;
    while let Some(unit) = rest
        .strip_prefix('u')
        .and_then(|hex| hex.get(..4))
        .and_then(|hex| u16::from_str_radix(hex, 16).ok())
    {
        units.push(unit);
        match rest.get(5..).and_then(|rest| rest.strip_prefix('\\')) {
            Some(next) => rest = next,
            None => break,
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn escapes_of_a_broken_file_are_put_in_place() {
        for (text, want) in [
            (r#"{"a": "p\u0069xel"#, r#"{"a": "pixel"#),
            (r"\ud83d\ude00!", "😀!"),
            (r"\u00e9\u00e9t\n\u12", "éét u12"),
            (r"\ud83d\u", " u"),
            ("\\", ""),
            (r#"say \"hi\" \\ there"#, r#"say "hi" \ there"#),
        ] {
            assert_eq!(unescaped(text), want, "{text}");
        }
    }
}
