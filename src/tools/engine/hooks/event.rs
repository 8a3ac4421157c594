//! The events that hooks may be about. Names are those of Claude Code's hooks (<https://docs.claude.com/en/docs/claude-code/hooks>).

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HookEvent {
    SessionStart,
    UserPromptSubmit,
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    Stop,
    SubagentStop,
    PreCompact,
    Notification,
    SessionEnd,
}

const NAMES: [(HookEvent, &str); 10] = [
    (HookEvent::SessionStart, "SessionStart"),
    (HookEvent::UserPromptSubmit, "UserPromptSubmit"),
    (HookEvent::PreToolUse, "PreToolUse"),
    (HookEvent::PostToolUse, "PostToolUse"),
    (HookEvent::PostToolUseFailure, "PostToolUseFailure"),
    (HookEvent::Stop, "Stop"),
    (HookEvent::SubagentStop, "SubagentStop"),
    (HookEvent::PreCompact, "PreCompact"),
    (HookEvent::Notification, "Notification"),
    (HookEvent::SessionEnd, "SessionEnd"),
];

impl HookEvent {
    /// The event of this name; `None` where there is none.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let known = NAMES.iter().find(|(_, known)| *known == name);
        known.map(|(event, _)| *event)
    }

    /// The names of all events.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, name)| *name)
    }

    pub(crate) fn name(self) -> &'static str {
        let known = NAMES.iter().find(|(event, _)| *event == self);
        known.map_or("", |(_, name)| name)
    }
}
