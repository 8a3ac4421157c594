//! Finds the parts of a calendar file: its events and time zones, and where a new event goes. The bytes stay untouched, so unknown parts survive a rewrite byte
//! for byte.

use std::borrow::Cow;
use std::ops::Range;

use super::line::{ContentLine, ContentLines, Property, name, unfold};
use super::moment::Length;
use crate::base::text::{clip, escape_controls};

/// An event's bytes, and the lines by which most events can be skipped without parsing them.
#[derive(Debug, Clone, Default)]
pub struct EventSpan {
    /// From its BEGIN to the end of its END, line breaks included.
    pub range: Range<usize>,
    pub uid: Option<ContentLine>,
    pub start: Option<ContentLine>,
    pub end: Option<ContentLine>,
    /// It has RRULE or RDATE.
    pub repeats: bool,
    /// The line RECURRENCE-ID: this is one occurrence of another event.
    pub replaces: Option<ContentLine>,
    /// SEQUENCE: which of several versions of an event this is.
    pub sequence: u64,
    /// It has a DURATION of more than a day, or an invalid one.
    pub is_long: bool,
}

/// How many open components are searched for the start of an END.
const MAX_SEARCHED_COMPONENTS: usize = 64;

/// The structure of a file.
pub struct CalendarScan<'a> {
    pub bytes: &'a [u8],
    pub events: Vec<EventSpan>,
    /// Its VTIMEZONE components.
    pub zones: Vec<Range<usize>>,
    /// Start of the last calendar's END line: new events go before it.
    pub insert: Option<usize>,
    /// Why the file must not be written: a component without END, or an END without BEGIN.
    pub fault: Option<String>,
}

/// Finds the components of a file.
pub fn scan(bytes: &[u8]) -> CalendarScan<'_> {
    let mut walk = ScanWalk {
        open: Vec::new(),
        event: None,
        zone: None,
        found: CalendarScan {
            bytes,
            events: Vec::new(),
            zones: Vec::new(),
            insert: None,
            fault: None,
        },
    };
    let from = if bytes.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    for line in ContentLines::new(bytes, from..bytes.len()) {
        walk.line(&line);
    }
    walk.finish()
}

struct ScanWalk<'a> {
    /// Components that are open, in upper case, with their first byte.
    open: Vec<(Cow<'static, [u8]>, usize)>,
    /// The open event and the depth at which it opened.
    event: Option<(usize, EventSpan)>,
    zone: Option<(usize, usize)>,
    found: CalendarScan<'a>,
}

impl<'a> ScanWalk<'a> {
    fn line(&mut self, line: &ContentLine) {
        let bytes = self.found.bytes;
        let first = bytes.get(line.range.start).map(u8::to_ascii_uppercase);
        // A name can be folded too, so folded lines are unfolded first; for others the first letters suffice.
        let second = bytes.get(line.range.start + 1).map(u8::to_ascii_uppercase);
        let matters = match first {
            Some(b'B' | b'E' | b'U' | b'R') => true,
            // Not DTSTAMP, which every event has.
            Some(b'D') => {
                line.folded || !matches!(bytes.get(line.range.start + 5), Some(b'M' | b'm'))
            }
            Some(b'S') => line.folded || second == Some(b'E'),
            _ => false,
        };
        if !matters {
            return;
        }
        let text: Cow<'_, [u8]> = unfold(bytes, line);
        let word = name(&text);
        let is = |wanted: &str| word.eq_ignore_ascii_case(wanted.as_bytes());
        match first {
            Some(b'B') if is("BEGIN") => return self.begin(value(&text), line),
            Some(b'E') if is("END") => return self.end(value(&text), line),
            _ => {}
        }
        let depth = self.open.len();
        let Some((_, event)) = self.event.as_mut().filter(|(at, _)| *at == depth) else {
            return;
        };
        let value = || str::from_utf8(value(&text)).ok();
        match first {
            Some(b'U') if is("UID") => {
                event.uid.get_or_insert_with(|| line.clone());
            }
            Some(b'D') if is("DTSTART") => {
                event.start.get_or_insert_with(|| line.clone());
            }
            Some(b'D') if is("DTEND") => {
                event.end.get_or_insert_with(|| line.clone());
            }
            Some(b'D') if is("DURATION") => {
                let length = value().and_then(Length::read);
                event.is_long |= length.is_none_or(|length| !length.is_within_a_day());
            }
            Some(b'S') if is("SEQUENCE") => {
                let number = value().and_then(|text| text.trim().parse().ok());
                event.sequence = number.unwrap_or_default();
            }
            Some(b'R') if is("RRULE") || is("RDATE") => event.repeats = true,
            Some(b'R') if is("RECURRENCE-ID") => event.replaces = Some(line.clone()),
            _ => {}
        }
    }

    fn begin(&mut self, name: &[u8], line: &ContentLine) {
        let name = component(name.trim_ascii());
        let depth = self.open.len() + 1;
        if *name == *b"VEVENT" && self.event.is_none() {
            let mut place = EventSpan::default();
            place.range.start = line.range.start;
            self.event = Some((depth, place));
        } else if *name == *b"VTIMEZONE" && self.zone.is_none() {
            self.zone = Some((depth, line.range.start));
        }
        self.open.push((name, line.range.start));
    }

    fn end(&mut self, what: &[u8], line: &ContentLine) {
        let what = component(what.trim_ascii());
        let depth = self.open.len();
        match self.open.pop() {
            Some((open, _)) if open == what => {}
            Some((open, at)) => {
                self.fault(
                    &format!("{} is ended by END:{}", shown(&open), shown(&what)),
                    at,
                );
                // The end of an outer component closes the inner ones; an END without a BEGIN is ignored.
                let near = self.open.len().saturating_sub(MAX_SEARCHED_COMPONENTS);
                let inner = self.open.iter().skip(near);
                if let Some(outer) = inner.clone().rposition(|(name, _)| *name == what) {
                    self.open.truncate(near + outer);
                } else {
                    self.open.push((open, at));
                    return;
                }
            }
            None => {
                self.fault(
                    &format!("END:{} without a beginning", shown(&what)),
                    line.range.start,
                );
                return;
            }
        }
        if let Some((at, mut place)) = self.event.take_if(|(at, _)| *at > self.open.len()) {
            if at == depth {
                place.range.end = line.next;
                self.found.events.push(place);
            }
        } else if let Some((_, start)) = self.zone.take_if(|(at, _)| *at > self.open.len()) {
            self.found.zones.push(start..line.next);
        }
        if *what == *b"VCALENDAR" && self.open.is_empty() {
            self.found.insert = Some(line.range.start);
        }
    }

    fn fault(&mut self, name: &str, at: usize) {
        if self.found.fault.is_none() {
            let before = self.found.bytes.get(..at).unwrap_or_default();
            let ends = before.iter().filter(|byte| **byte == b'\n').count();
            self.found.fault = Some(format!("{name} (line {})", ends + 1));
        }
    }

    fn finish(mut self) -> CalendarScan<'a> {
        if let Some((open, at)) = self.open.pop() {
            self.fault(&format!("{} is never ended", shown(&open)), at);
        }
        self.found
    }
}

/// A component's name in upper case; the usual ones need no allocation.
fn component(word: &[u8]) -> Cow<'static, [u8]> {
    const USUAL: [&[u8]; 6] = [
        b"VEVENT",
        b"VALARM",
        b"VCALENDAR",
        b"VTIMEZONE",
        b"STANDARD",
        b"DAYLIGHT",
    ];
    let usual = USUAL.iter().find(|usual| usual.eq_ignore_ascii_case(word));
    usual.map_or_else(
        || Cow::Owned(word.to_ascii_uppercase()),
        |usual| Cow::Borrowed(*usual),
    )
}

/// The text after the colon.
fn value(text: &[u8]) -> &[u8] {
    let colon = text.iter().position(|byte| *byte == b':');
    colon.and_then(|at| text.get(at + 1..)).unwrap_or_default()
}

fn shown(word: &[u8]) -> String {
    clip(&escape_controls(&String::from_utf8_lossy(word)), 40)
}

impl CalendarScan<'_> {
    /// Why the file must not be written; an empty file may be.
    pub fn trouble(&self) -> Option<&str> {
        let empty = self.bytes.trim_ascii().is_empty();
        let none = (self.insert.is_none() && !empty).then_some("there is no VCALENDAR in it");
        self.fault.as_deref().or(none)
    }

    pub fn uid(&self, place: &EventSpan) -> Option<String> {
        let line = place.uid.as_ref()?;
        let text = unfold(self.bytes, line);
        Property::read(&text).map(|property| property.value.trim().to_owned())
    }

    /// The key shared by versions of one event: its UID and its RECURRENCE-ID as written.
    pub fn key(&self, place: &EventSpan) -> (String, String) {
        let one = |line: &ContentLine| {
            let text = unfold(self.bytes, line);
            Property::read(&text).map(|property| property.value.trim().to_owned())
        };
        let recurrence_id = place.replaces.as_ref().and_then(one);
        (
            self.uid(place).unwrap_or_default(),
            recurrence_id.unwrap_or_default(),
        )
    }

    /// Whether the UID of an event, as bytes, satisfies `fits`; false for an event without one.
    pub fn begins(&self, place: &EventSpan, fits: impl FnOnce(&[u8]) -> bool) -> bool {
        let Some(line) = place.uid.as_ref() else {
            return false;
        };
        fits(value(&unfold(self.bytes, line)).trim_ascii())
    }

    /// The first eight digits of a line's value as a number, YYYYMMDD: enough to skip events that are years away.
    pub fn day(&self, line: &ContentLine) -> Option<u32> {
        let text = unfold(self.bytes, line);
        let digits = value_of_time(&text)?;
        digits.iter().try_fold(0u32, |number, byte| {
            byte.is_ascii_digit()
                .then(|| number * 10 + u32::from(byte - b'0'))
        })
    }
}

/// The eight bytes after the last colon; a TZID may contain colons, a time never does.
fn value_of_time(text: &[u8]) -> Option<&[u8]> {
    let colon = text.iter().rposition(|byte| *byte == b':')?;
    text.get(colon + 1..colon + 9)
}

/// The file with `event` (whole lines) added, everything else unchanged. For an absent or empty file, a new calendar.
pub fn with_event(bytes: &[u8], event: &str, product: &str) -> Result<Vec<u8>, String> {
    if bytes.trim_ascii().is_empty() {
        let calendar = format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:{product}\r\n{event}END:VCALENDAR\r\n"
        );
        return Ok(calendar.into_bytes());
    }
    let found = writable(bytes)?;
    let at = found.insert.unwrap_or(bytes.len());
    let (before, after) = bytes.split_at_checked(at).unwrap_or((bytes, &[]));
    Ok([before, event.as_bytes(), after].concat())
}

/// The file without the event `uid`, everything else unchanged, and how many components were removed.
pub fn without(bytes: &[u8], uid: &str) -> Result<(Vec<u8>, usize), String> {
    let found = writable(bytes)?;
    let mut out = Vec::with_capacity(bytes.len());
    let mut from = 0;
    let mut count = 0;
    for place in &found.events {
        if found.uid(place).as_deref() == Some(uid) {
            out.extend_from_slice(bytes.get(from..place.range.start).unwrap_or_default());
            from = place.range.end;
            count += 1;
        }
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
    Ok((out, count))
}

fn writable(bytes: &[u8]) -> Result<CalendarScan<'_>, String> {
    let found = scan(bytes);
    match found.trouble() {
        Some(trouble) => Err(trouble.to_owned()),
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EVENT: &str = "BEGIN:VEVENT\r\nUID:new\r\nEND:VEVENT\r\n";

    #[test]
    fn adding_and_removing_an_event_restores_every_byte() {
        let files = [
            "BEGIN:VCALENDAR\r\nX-A:\r\n  folded\r\nEND:VCALENDAR\r\n",
            "BEGIN:VCALENDAR\nBEGIN:VTODO\nUID:new\nEND:VTODO\nEND:VCALENDAR\n\n",
            "begin:vcalendar\rBEGIN:VEVENT\rUID:old\rBEGIN:VALARM\rUID:new\rEND:VALARM\rEND:VEVENT\rend:vcalendar\r",
            "BEGIN:VCALENDAR\nEND:VCALENDAR\nBEGIN:VCALENDAR\nJUNK\nEND:VCALENDAR",
        ];
        for file in files {
            let more = with_event(file.as_bytes(), EVENT, "x").unwrap();
            assert_eq!(more.len(), file.len() + EVENT.len());
            let (back, count) = without(&more, "new").unwrap();
            assert_eq!((back, count), (file.as_bytes().to_vec(), 1), "{file:?}");
            assert_eq!(without(file.as_bytes(), "new").unwrap().1, 0);
        }
    }

    #[test]
    fn unmatched_ends_take_linear_time() {
        let file = "BEGIN:A\n".repeat(30_000) + &"END:B\n".repeat(30_000);
        let begun = crate::base::cpu_time::CpuTime::now();
        let found = scan(file.as_bytes());
        assert!(found.fault.unwrap().contains("A is ended by END:B"));
        let odd = scan(b"BEGIN:A\nEND:A\x1b[31m\n").fault.unwrap();
        assert!(odd.contains("END:A\\x1b[31M"), "{odd}");
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }

    #[test]
    fn a_malformed_calendar_is_never_written() {
        for (file, words) in [
            (
                "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\n",
                "VEVENT is never ended (line 2)",
            ),
            ("hello", "no VCALENDAR"),
            (
                "BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR\n",
                "VEVENT is ended by END:VCALENDAR",
            ),
            (
                "END:VEVENT\nBEGIN:VCALENDAR\nEND:VCALENDAR\n",
                "END:VEVENT without",
            ),
        ] {
            let fault = with_event(file.as_bytes(), EVENT, "x").unwrap_err();
            assert!(fault.contains(words), "{fault}");
            assert!(without(file.as_bytes(), "a").is_err());
        }
        let new = with_event(b" \n", EVENT, "x").unwrap();
        assert!(scan(&new).fault.is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_scan_and_events_survive_unchanged(
            lines in proptest::collection::vec("(BEGIN:VEVENT|END:VEVENT|BEGIN:VCALENDAR|END:VCALENDAR|BEGIN:X|END:X|UID:[a-c]| [a-z]{0,3}|[A-Z]{1,3}:\\PC{0,5}|)(\r\n|\n|\r)", 0..24)
        ) {
            let text = lines.concat();
            let found = scan(text.as_bytes());
            for place in &found.events {
                prop_assert!(text.get(place.range.clone()).unwrap().to_uppercase().starts_with("BEGIN"));
            }
            if let Ok(more) = with_event(text.as_bytes(), EVENT, "x") {
                prop_assert!(scan(&more).fault.is_none());
                if !text.trim().is_empty() {
                    prop_assert_eq!(without(&more, "new").unwrap().0, text.as_bytes());
                }
            }
        }
    }
}
