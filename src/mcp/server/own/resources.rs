//! Notes and places as resources.

use std::io;
use std::ops::ControlFlow;

use serde_json::{Value, json};

use crate::disk::beneath::{RelPath, WalkEntry, WalkFile, WalkVisitor};
use crate::formats::address::decoded_whole;
use crate::net::service::encoded;
use crate::store::notes::{MAX_NOTE_BYTES, NotesDir};
use crate::store::places::{Place, SavedPlaces, label_key};
use crate::tools::engine::context::SessionContext;

/// Notes that are listed.
const LISTED: usize = 5_000;

/// A kind of resource: its addresses are a scheme and a name.
pub(super) struct Kind {
    /// Up to the name.
    scheme: &'static str,
    /// What the name is called in the template.
    argument: &'static str,
    /// How RFC 6570 writes a name that may have slashes.
    operator: &'static str,
    title: &'static str,
    pub(super) mime_type: &'static str,
}

pub(super) static NOTE: Kind = Kind {
    scheme: "note:///",
    argument: "path",
    operator: "+",
    title: "Note",
    mime_type: "text/markdown",
};

pub(super) static PLACE: Kind = Kind {
    scheme: "place:///",
    argument: "name",
    operator: "",
    title: "Saved place",
    mime_type: "application/json",
};

impl Kind {
    fn uri(&self, name: &str) -> String {
        let parts: Vec<String> = name.split('/').map(encoded).collect();
        format!("{}{}", self.scheme, parts.join("/"))
    }

    fn uri_template(&self) -> String {
        format!("{}{{{}{}}}", self.scheme, self.operator, self.argument)
    }

    /// The name in an address of this kind.
    pub(super) fn name_in(&self, uri: &str) -> Option<String> {
        decoded_whole(uri.strip_prefix(self.scheme)?)
    }

    pub(super) fn is_template(&self, uri: &str, argument: &str) -> bool {
        uri == self.uri_template() && argument == self.argument
    }

    pub(super) fn listed(&self, name: &str, title: &str) -> Value {
        json!({"uri": self.uri(name), "name": name, "title": title, "mimeType": self.mime_type})
    }

    pub(super) fn template(&self) -> Value {
        json!({
            "uriTemplate": self.uri_template(),
            "name": self.title.to_lowercase(),
            "title": self.title,
            "mimeType": self.mime_type,
        })
    }
}

fn notes_dir(session: &SessionContext) -> Option<NotesDir> {
    NotesDir::open(&session.paths, session.project()).ok()
}

/// The paths of the notes, in order.
pub(super) fn notes(session: &SessionContext) -> Vec<String> {
    let mut found = Found(Vec::new());
    if let Some(dir) = notes_dir(session)
        && let Ok(root) = dir.root()
    {
        root.walk(&[], (), &mut found);
    }
    found.0.sort();
    found.0
}

struct Found(Vec<String>);

impl WalkVisitor for Found {
    type Mark = ();

    fn enter(&mut self, entry: &WalkEntry<'_>, _: bool, (): ()) -> Option<()> {
        let name = entry.rel.name().unwrap_or_default();
        (!name.starts_with('.')).then_some(())
    }

    fn file(&mut self, file: WalkFile) -> ControlFlow<()> {
        self.0.push(file.rel.as_str().to_owned());
        ControlFlow::Continue(())
    }

    fn unreadable(&mut self, _: &RelPath, _: io::Error) {}

    fn is_over(&mut self) -> bool {
        self.0.len() >= LISTED
    }
}

/// The text of the note at exactly this path.
pub(super) fn note(session: &SessionContext, path: &str) -> Option<String> {
    let dir = notes_dir(session)?;
    let root = dir.root().ok()?;
    let bytes = root.read(&root.check(path).ok()?, MAX_NOTE_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The saved places of the profile, in the order of their file.
pub(super) fn places(session: &SessionContext) -> Vec<Place> {
    let profile = session.paths.profile(&session.profile());
    let read = profile.and_then(|profile| SavedPlaces::of(&profile, &session.clock).read());
    read.unwrap_or_default()
}

/// A saved place as JSON.
pub(super) fn place(session: &SessionContext, label: &str) -> Option<String> {
    let label = label_key(label);
    let mut places = places(session).into_iter();
    let place = places.find(|place| label_key(&place.label) == label)?;
    let shown = json!({
        "label": place.label,
        "name": place.name,
        "address": place.address,
        "phone": place.phone,
        "website": place.website,
        "lat": place.lat,
        "lng": place.lng,
        "notes": place.notes,
    });
    Some(shown.to_string())
}
