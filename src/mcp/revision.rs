//! The revisions of the protocol. Until 2025-11-25 a connection begins with a handshake (`initialize`) and keeps what was agreed on; since 2026-07-28 each
//! request says all that it needs.

/// The revision without a handshake.
pub(crate) const MODERN: &str = "2026-07-28";

/// A revision with a handshake, and what it knows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Legacy {
    pub name: &'static str,
    /// Titles, and results as data beside their text.
    pub structure: bool,
    /// What a tool does to the world, and words beside the numbers of a progress.
    pub annotations: bool,
}

/// The newest first.
pub(crate) static LEGACY: [Legacy; 4] = [
    legacy("2025-11-25", true, true),
    legacy("2025-06-18", true, true),
    legacy("2025-03-26", false, true),
    legacy("2024-11-05", false, false),
];

const fn legacy(name: &'static str, structure: bool, annotations: bool) -> Legacy {
    Legacy {
        name,
        structure,
        annotations,
    }
}

/// What is spoken with one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// [`MODERN`].
    Modern,
    /// A revision with a handshake.
    Legacy(&'static Legacy),
}

impl Era {
    /// What a handshake for `asked` agrees on: that revision, or the newest one where it is unknown.
    pub(crate) fn of_handshake(asked: &str) -> Self {
        let [newest, ..] = &LEGACY;
        let known = LEGACY.iter().find(|legacy| legacy.name == asked);
        Self::Legacy(known.unwrap_or(newest))
    }

    /// Whether results may have data beside their text.
    pub(crate) fn has_structure(self) -> bool {
        matches!(
            self,
            Self::Modern
                | Self::Legacy(Legacy {
                    structure: true,
                    ..
                })
        )
    }

    /// Whether it is told what tools do to the world.
    pub(crate) fn has_annotations(self) -> bool {
        matches!(
            self,
            Self::Modern
                | Self::Legacy(Legacy {
                    annotations: true,
                    ..
                })
        )
    }
}
