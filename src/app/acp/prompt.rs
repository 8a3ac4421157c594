//! The blocks of a prompt as a message: text, links, embedded files and images.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::params::{list, optional_text, text, wrong};
use crate::base::marks::enclosed;
use crate::base::text::{clip, escape_controls, one_line};
use crate::disk::beneath::Root;
use crate::formats::address::decoded;
use crate::formats::json_rpc::RpcError;

/// A message of the client.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PromptMessage {
    pub(super) text: String,
    /// The part of it that the user wrote.
    pub(super) typed: String,
    /// Name and bytes of each image.
    pub(super) images: Vec<(String, Arc<[u8]>)>,
    /// Files that go with it: beneath the working directory, or whole paths in folders beside it.
    pub(super) files: Vec<PathBuf>,
}

/// The folders whose files a link may bring along.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkedFolders<'a> {
    /// The working directory.
    pub(super) root: Option<&'a Path>,
    /// Those beside it.
    pub(super) added: &'a [Arc<Root>],
}

impl LinkedFolders<'_> {
    /// The file as a mention names it; none where it lies elsewhere.
    fn named(self, real: &Path) -> Option<PathBuf> {
        let beneath = self.root.and_then(|root| real.strip_prefix(root).ok());
        let is_added = || {
            self.added
                .iter()
                .any(|added| real.starts_with(added.path()))
        };
        let beside = || is_added().then(|| real.to_owned());
        beneath.map(Path::to_owned).or_else(beside)
    }
}

impl PromptMessage {
    /// Reads the blocks of a prompt in a session with these folders.
    ///
    /// # Errors
    /// A block is none, or cannot be sent to a model.
    pub(super) fn read(params: &Value, folders: LinkedFolders<'_>) -> Result<Self, RpcError> {
        let mut message = Self::default();
        let blocks = list(params, "prompt")?;
        if blocks.is_empty() {
            return Err(wrong("prompt", "The prompt is empty."));
        }
        for block in in_order(blocks) {
            message.block(block, folders)?;
        }
        if message.text.trim().is_empty() {
            // The name stands for the image wherever only texts are shown.
            let names = message.images.iter().map(|(name, _)| name.as_str());
            message.text = names.collect::<Vec<_>>().join(" ");
        }
        match message.text.is_empty() {
            true => Err(wrong("prompt", "The prompt is empty.")),
            false => Ok(message),
        }
    }

    /// What it is called by: what the user wrote.
    pub(super) fn title(&self) -> &str {
        match self.typed.trim() {
            "" => &self.text,
            typed => typed,
        }
    }

    fn block(&mut self, block: &Value, folders: LinkedFolders<'_>) -> Result<(), RpcError> {
        match kind(block)? {
            "text" => {
                let typed = text(block, "text")?;
                self.add(typed);
                joined(&mut self.typed, typed);
            }
            "resource_link" => self.link(text(block, "uri")?, text(block, "name")?, folders),
            "resource" => self.resource(block.get("resource").unwrap_or(&Value::Null))?,
            "image" => self.image(text(block, "data")?)?,
            other => {
                let shown = clip(&escape_controls(other), 40);
                let words = format!(
                    "A prompt cannot have a block of the type \"{shown}\": the model gets text and images."
                );
                return Err(wrong("prompt", words));
            }
        }
        Ok(())
    }

    fn add(&mut self, text: &str) {
        joined(&mut self.text, text);
    }

    /// A file in one of the folders is read; another address stays what it is.
    fn link(&mut self, uri: &str, name: &str, folders: LinkedFolders<'_>) {
        let file = file_of(uri).and_then(|path| {
            // The folders are real paths, and the client may know them by others.
            let real = path.parent()?.canonicalize().ok()?.join(path.file_name()?);
            folders.named(&real).filter(|_| real.is_file())
        });
        let name = one_line(name);
        match file {
            Some(path) => {
                self.add(&format!("@{}", path.display()));
                self.files.push(path);
            }
            None if name == uri => self.add(&name),
            None => self.add(&format!("{name} ({})", one_line(uri))),
        }
    }

    fn resource(&mut self, resource: &Value) -> Result<(), RpcError> {
        let uri = text(resource, "uri")?;
        if let Some(content) = optional_text(resource, "text")? {
            let source = format!("source=\"{}\"", uri.replace(['"', '\n'], " "));
            self.add(&enclosed("document", &source, content));
            return Ok(());
        }
        let kind = optional_text(resource, "mimeType")?.unwrap_or_default();
        if !kind.starts_with("image/") {
            let shown = clip(&escape_controls(kind), 60);
            let words = format!(
                "An embedded file of the type \"{shown}\" cannot be sent: the model gets text and images."
            );
            return Err(wrong("prompt", words));
        }
        self.image(text(resource, "blob")?)
    }

    fn image(&mut self, data: &str) -> Result<(), RpcError> {
        let bytes = STANDARD.decode(data).map_err(|error| {
            let error = error.to_string();
            let error = error.trim_end_matches('.');
            wrong(
                "prompt",
                format!("An image of the prompt is not base64: {error}."),
            )
        })?;
        let name = format!("image-{}", self.images.len() + 1);
        self.images.push((name, bytes.into()));
        Ok(())
    }
}

/// How the text of a message that was sent tells of what was embedded in it.
const EMBEDDED: (&str, &str, &str) = ("<document source=\"", "\">\n", "\n</document>");

/// A part of a message that was sent.
#[derive(Debug, PartialEq)]
pub(super) enum SentPart<'a> {
    Text(&'a str),
    /// Something embedded, by its address.
    Embedded(&'a str),
}

/// What is before the first thing embedded in a text, its address, and what is after it.
fn next_embedded(text: &str) -> Option<(&str, &str, &str)> {
    let (begin, begun, end) = EMBEDDED;
    let (before, after) = text.split_once(begin)?;
    let (source, after) = after.split_once(begun)?;
    let (_, after) = after.split_once(end)?;
    (!source.contains(['"', '\n'])).then_some((before, source, after))
}

/// The parts of a message that was sent, in order.
pub(super) fn sent_parts(text: &str) -> Vec<SentPart<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, source, after)) = next_embedded(rest) {
        parts.extend([
            SentPart::Text(before.trim_end_matches('\n')),
            SentPart::Embedded(source),
        ]);
        rest = after.strip_prefix('\n').unwrap_or(after);
    }
    parts.push(SentPart::Text(rest));
    parts.retain(|part| !matches!(part, SentPart::Text(text) if text.trim().is_empty()));
    parts
}

fn kind(block: &Value) -> Result<&str, RpcError> {
    text(block, "type").map_err(|_| wrong("prompt", "A block has no type."))
}

/// The blocks with the text first if something whole stands before it, so that the message begins with what the user wrote: editors put what they embed
/// first, and the file that is open beside a command.
fn in_order(blocks: &[Value]) -> Vec<&Value> {
    let is = |block: &Value, wanted: &str| kind(block) == Ok(wanted);
    let first = blocks.iter().find(|block| is(block, "text"));
    let first = first.and_then(|block| block.get("text")?.as_str());
    let is_command = first.is_some_and(|text| text.trim_start().starts_with('/'));
    let mut ordered: Vec<&Value> = blocks.iter().collect();
    let leading = (blocks.iter())
        .take_while(|block| match is_command {
            true => !is(block, "text"),
            false => is(block, "resource"),
        })
        .count();
    ordered.rotate_left(leading);
    ordered
}

/// Adds a text after those before it, on a line of its own unless they are apart already.
fn joined(whole: &mut String, text: &str) {
    let needs_break = !whole.is_empty()
        && !whole.ends_with(char::is_whitespace)
        && !text.starts_with(char::is_whitespace);
    if needs_break {
        whole.push('\n');
    }
    whole.push_str(text);
}

/// The file of this computer that a `file:` address names (RFC 8089), or a whole path, which some editors write in its place.
fn file_of(uri: &str) -> Option<PathBuf> {
    let path = match uri.strip_prefix("file:") {
        None => PathBuf::from(uri),
        Some(rest) => {
            let path = rest.strip_prefix("//").unwrap_or(rest);
            let path = path.strip_prefix("localhost").unwrap_or(path);
            PathBuf::from(decoded(path.split(['?', '#']).next()?))
        }
    };
    let is_plain = path.is_absolute()
        && !path
            .components()
            .any(|part| matches!(part, std::path::Component::ParentDir));
    is_plain.then_some(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn read(blocks: Value, root: Option<&Path>) -> Result<PromptMessage, RpcError> {
        let folders = LinkedFolders { root, added: &[] };
        PromptMessage::read(&json!({"prompt": blocks}), folders)
    }

    #[test]
    fn text_links_embedded_files_and_images_become_a_message() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("a b")).unwrap();
        fs::write(root.join("a b/c.rs"), "fn c() {}").unwrap();
        let inside = format!("file://{}/a%20b/c.rs#L3", root.display());
        let message = read(
            json!([
                {"type": "text", "text": "Look at"},
                {"type": "resource_link", "uri": inside, "name": "c.rs"},
                {"type": "resource_link", "uri": "file:///etc/hostname", "name": "hostname"},
                {"type": "resource_link", "uri": "https://example.org/x", "name": "page"},
                {"type": "resource_link", "uri": "/etc/hostname", "name": "/etc/hostname"},
                {"type": "resource", "resource": {"uri": "file:///x.txt", "text": "embedded"}},
                {"type": "resource", "resource": {"uri": "x", "mimeType": "image/png", "blob": "AAE="}},
                {"type": "image", "mimeType": "image/png", "data": "AAEC"},
            ]),
            Some(&root),
        )
        .unwrap();
        assert_eq!(message.files, [PathBuf::from("a b/c.rs")]);
        assert!(
            message.text.starts_with(
                "Look at\n@a b/c.rs\nhostname (file:///etc/hostname)\npage (https://example.org/x)\n/etc/hostname\n<document source=\"file:///x.txt\""
            ),
            "{}",
            message.text
        );
        let names: Vec<&str> = message
            .images
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["image-1", "image-2"]);
    }

    #[test]
    fn a_file_is_named_by_an_address_or_by_its_whole_path() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::write(root.join("a%20 b#c"), "x").unwrap();
        let path = root.join("a%20 b#c").display().to_string();
        let written = path.replace('%', "%25").replace('#', "%23");
        for (uri, is_read) in [
            (path.clone(), true),
            (format!("file://{written}"), true),
            (format!("file:{written}"), true),
            (format!("file://localhost{written}"), true),
            (format!("file://localhost.example{written}"), false),
            (format!("file://other{written}"), false),
            ("a%20 b#c".to_owned(), false),
        ] {
            let block = json!([{"type": "resource_link", "uri": uri, "name": "c"}]);
            let message = read(block, Some(&root)).unwrap();
            assert_eq!(!message.files.is_empty(), is_read, "{uri}");
        }
    }

    #[test]
    fn a_link_that_climbs_is_no_file_of_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("in");
        fs::create_dir(&root).unwrap();
        fs::write(dir.path().join("out"), "x").unwrap();
        for uri in [
            format!("file://{}/../out", root.display()),
            format!("file://{}/%2e%2e/out", root.display()),
            "file://relative".to_owned(),
            "file:///nothing/there".to_owned(),
        ] {
            let block = json!([{"type": "resource_link", "uri": uri, "name": "out"}]);
            let message = read(block, Some(&root)).unwrap();
            assert!(message.files.is_empty(), "{uri}");
        }
    }

    #[test]
    fn a_message_begins_with_what_the_user_wrote() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let file = json!({"type": "resource", "resource": {"uri": "x", "text": "embedded"}});
        let link = json!({"type": "resource_link", "uri": "https://x.org", "name": "x"});
        let image = json!({"type": "image", "mimeType": "image/png", "data": "AAEC"});
        for (blocks, begin, typed) in [
            (json!([file, text("why?")]), "why?\n<document", "why?"),
            (
                json!([link, text("why?")]),
                "x (https://x.org)\nwhy?",
                "why?",
            ),
            (json!([link, text("/usage")]), "/usage\nx (https", "/usage"),
            (json!([text("/a"), image, text("b")]), "/a\nb", "/a\nb"),
            (
                json!([text("see "), file, text(" there")]),
                "see <document",
                "see  there",
            ),
        ] {
            let message = read(blocks, None).unwrap();
            assert!(message.text.starts_with(begin), "{}", message.text);
            assert_eq!((message.typed.as_str(), message.title()), (typed, typed));
        }
        let message = read(json!([image, image]), None).unwrap();
        assert_eq!(message.title(), "image-1 image-2");
    }

    #[test]
    fn what_was_embedded_is_found_again_by_its_address() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let file = |uri: &str, text: &str| json!({"type": "resource", "resource": {"uri": uri, "text": text}});
        let (one, two) = (file("x/\"1\"", "a\n</document>"), file("2", ""));
        let (named_one, named_two) = (SentPart::Embedded("x/ 1 "), SentPart::Embedded("2"));
        for (blocks, parts) in [
            (json!([text("why?")]), vec![SentPart::Text("why?")]),
            (
                json!([text("see "), one, text(" and\nthere"), two]),
                vec![
                    SentPart::Text("see "),
                    named_one,
                    SentPart::Text(" and\nthere"),
                    named_two,
                ],
            ),
            (json!([two]), vec![SentPart::Embedded("2")]),
            (
                json!([text("<document source=\"x")]),
                vec![SentPart::Text("<document source=\"x")],
            ),
        ] {
            assert_eq!(sent_parts(&read(blocks, None).unwrap().text), parts);
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused_in_words() {
        for (blocks, words) in [
            (json!([]), "empty"),
            (json!("x"), "no list"),
            (json!([{"type": "text", "text": " "}]), "empty"),
            (json!([{"type": "text"}]), "text is missing"),
            (json!([7]), "no type"),
            (
                json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}]),
                "\"audio\"",
            ),
            (
                json!([{"type": "image", "data": "%", "mimeType": "image/png"}]),
                "not base64",
            ),
            (
                json!([{"type": "resource", "resource": {"uri": "x", "mimeType": "application/zip", "blob": ""}}]),
                "application/zip",
            ),
        ] {
            let error = read(blocks.clone(), None).unwrap_err();
            assert_eq!(error.code, RpcError::INVALID_PARAMS);
            assert!(error.message.contains(words), "{blocks}: {}", error.message);
        }
    }
}
