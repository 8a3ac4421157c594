//! Splits bytes into server-sent events: pure, incremental, and without a copy when an event lies within one read.

use std::ops::ControlFlow;

use super::lines::{Line, LineSplitter, MAX_LINE_BYTES, TooLong};

/// A field of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SseItem<'a> {
    /// An event with data.
    Event {
        /// Its name; empty when the server gave none.
        name: &'a str,
        /// Its `data:` lines, joined by newlines.
        data: &'a [u8],
    },
    /// A line that is not a field of the protocol. Servers of the llama.cpp family report an error as `error: {…}` instead of `data:`; a page or a
    /// proxy's error text consists of such lines.
    Stray(&'a [u8]),
}

/// Splits reads into events; holds the state between two reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvents {
    lines: LineSplitter,
    /// The name that came last: most events of a stream have the same one.
    name: String,
    /// It is the name of the event that has begun.
    named: bool,
    data: Vec<u8>,
    /// A `data:` line has come since the last event.
    any: bool,
    begun: bool,
    cap: usize,
    last_id: String,
    /// That of the event that has begun.
    next_id: Option<String>,
    retry: Option<u64>,
}

impl Default for SseEvents {
    fn default() -> Self {
        Self::with_cap(MAX_LINE_BYTES)
    }
}

/// A classified line.
enum SseField<'b> {
    Blank,
    Data(&'b [u8]),
    Name(&'b [u8]),
    Id(&'b [u8]),
    Retry(&'b [u8]),
    /// A comment.
    Ignored,
    Stray(&'b [u8]),
}

impl SseEvents {
    /// A splitter for events of at most `cap` bytes.
    pub fn with_cap(cap: usize) -> Self {
        Self {
            lines: LineSplitter::with_cap(cap),
            name: String::new(),
            named: false,
            data: Vec::new(),
            any: false,
            begun: false,
            cap,
            last_id: String::new(),
            next_id: None,
            retry: None,
        }
    }

    /// The id of the last event that is whole, after which a stream can be resumed; empty without one.
    pub fn last_id(&self) -> &str {
        &self.last_id
    }

    /// For how many milliseconds the server wants to be left alone before the stream is resumed.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// Processes one read and passes the complete items to `on_item`; stops early when that breaks.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        on_item: &mut dyn FnMut(SseItem<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, TooLong> {
        let mut rest = bytes;
        // The data of an event that began in this read: passed on in place, and copied only when the read ends first.
        let mut in_place: Option<&[u8]> = None;
        while let Some(line) = self.lines.next(&mut rest)? {
            let first = !std::mem::replace(&mut self.begun, true);
            let flow = match line {
                Line::Whole(line) => match classify(line, first) {
                    SseField::Data(data) if !self.any => {
                        self.any = true;
                        in_place = Some(data);
                        ControlFlow::Continue(())
                    }
                    field => self.take(field, &mut in_place, on_item)?,
                },
                Line::Joined(line) => self.take(classify(&line, first), &mut in_place, on_item)?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        if let Some(data) = in_place {
            self.data.extend_from_slice(data);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The body ended: an unfinished last line counts as a line, and an event without its blank line as an event.
    pub fn finish(
        &mut self,
        on_item: &mut dyn FnMut(SseItem<'_>) -> ControlFlow<()>,
    ) -> Result<(), TooLong> {
        if let Some(line) = self.lines.finish() {
            let first = !std::mem::replace(&mut self.begun, true);
            if self
                .take(classify(&line, first), &mut None, on_item)?
                .is_break()
            {
                return Ok(());
            }
        }
        self.next_id = None;
        self.take(SseField::Blank, &mut None, on_item).map(drop)
    }

    fn take(
        &mut self,
        field: SseField<'_>,
        in_place: &mut Option<&[u8]>,
        on_item: &mut dyn FnMut(SseItem<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, TooLong> {
        match field {
            SseField::Data(data) => {
                if let Some(earlier) = in_place.take() {
                    self.data.extend_from_slice(earlier);
                }
                if self.data.len() + data.len() > self.cap {
                    return Err(TooLong { cap: self.cap });
                }
                if std::mem::replace(&mut self.any, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data);
            }
            SseField::Blank => {
                if let Some(id) = self.next_id.take() {
                    self.last_id = id;
                }
                let mut flow = ControlFlow::Continue(());
                if std::mem::take(&mut self.any) {
                    let data = in_place.take().unwrap_or(&self.data);
                    let name = if self.named { &self.name } else { "" };
                    flow = on_item(SseItem::Event { name, data });
                }
                self.data.clear();
                self.named = false;
                return Ok(flow);
            }
            SseField::Name(name) => {
                if self.name.as_bytes() != name {
                    self.name.clear();
                    self.name.push_str(&String::from_utf8_lossy(name));
                }
                self.named = true;
            }
            SseField::Id(id) => {
                if !id.contains(&0) {
                    self.next_id = Some(String::from_utf8_lossy(id).into_owned());
                }
            }
            SseField::Retry(time) => {
                let time = std::str::from_utf8(time).ok();
                self.retry = time.and_then(|time| time.parse().ok()).or(self.retry);
            }
            SseField::Ignored => {}
            SseField::Stray(line) => return Ok(on_item(SseItem::Stray(line))),
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn classify(line: &[u8], first: bool) -> SseField<'_> {
    let line = match line.strip_prefix(b"\xEF\xBB\xBF") {
        Some(rest) if first => rest,
        _ => line,
    };
    if line.is_empty() {
        return SseField::Blank;
    }
    let colon = line.iter().take(8).position(|byte| *byte == b':');
    let (name, value) = colon
        .and_then(|at| line.split_at_checked(at))
        .map_or((line, Default::default()), |(name, value)| {
            (name, value.get(1..).unwrap_or_default())
        });
    let value = value.strip_prefix(b" ").unwrap_or(value);
    match name {
        b"data" => SseField::Data(value),
        b"event" => SseField::Name(value),
        b"id" => SseField::Id(value),
        b"retry" => SseField::Retry(value),
        b"" => SseField::Ignored,
        _ => SseField::Stray(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq, Eq)]
    enum OwnedItem {
        Event(String, Vec<u8>),
        Stray(Vec<u8>),
    }

    fn events(reads: &[&[u8]]) -> Vec<OwnedItem> {
        let mut events = SseEvents::default();
        let mut out = Vec::new();
        let mut on_item = |item: SseItem<'_>| {
            out.push(match item {
                SseItem::Event { name, data } => OwnedItem::Event(name.into(), data.into()),
                SseItem::Stray(line) => OwnedItem::Stray(line.into()),
            });
            ControlFlow::Continue(())
        };
        for read in reads {
            assert!(events.feed(read, &mut on_item).unwrap().is_continue());
        }
        events.finish(&mut on_item).unwrap();
        out
    }

    fn event(data: &str) -> OwnedItem {
        OwnedItem::Event(String::new(), data.into())
    }

    #[test]
    fn comments_raise_no_event() {
        assert_eq!(events(&[b": ping\n\n: ping\n\ndata: 1\n\n"]), [event("1")]);
    }

    #[test]
    fn every_legal_form_is_parsed() {
        let text = "\u{feff}data:1\r\n\r\nevent: error\rdata: a\rdata:  b\r\rid: 7\nretry: 3\ndata\n\ndata: last";
        let want = [
            event("1"),
            OwnedItem::Event("error".into(), b"a\n b".to_vec()),
            event(""),
            event("last"),
        ];
        assert_eq!(events(&[text.as_bytes()]), want);
        for at in 0..text.len() {
            let (one, two) = text.as_bytes().split_at(at);
            assert_eq!(events(&[one, two]), want, "cut at {at}");
        }
    }

    #[test]
    fn an_id_and_a_retry_time_stay_until_the_next() {
        let text = b"id: 1\nretry: 50\ndata\n\nid: 2\nretry: x\n\nid: \0\n\nid: 3\ndata: 3";
        for at in 0..text.len() {
            let (one, two) = text.split_at(at);
            let mut events = SseEvents::default();
            for read in [one, two] {
                let _ = events
                    .feed(read, &mut |_| ControlFlow::Continue(()))
                    .unwrap();
            }
            assert_eq!((events.last_id(), events.retry()), ("2", Some(50)), "{at}");
        }
    }

    #[test]
    fn a_name_belongs_to_one_event() {
        let named = |name: &str, data: &str| OwnedItem::Event(name.into(), data.into());
        let text = "event: a\ndata: 1\n\ndata: 2\n\nevent: a\ndata: 3\n\nevent:\ndata: 4\n\n";
        let want = [named("a", "1"), event("2"), named("a", "3"), event("4")];
        for at in 0..text.len() {
            let (one, two) = text.as_bytes().split_at(at);
            assert_eq!(events(&[one, two]), want, "cut at {at}");
        }
    }

    #[test]
    fn a_line_of_an_unknown_field_is_passed_on() {
        assert_eq!(
            events(&[b"data: 1\n\nerror: {\"message\":\"no\"}\n\n"]),
            [
                event("1"),
                OwnedItem::Stray(b"error: {\"message\":\"no\"}".to_vec())
            ]
        );
        assert_eq!(
            events(&[b"database: no"]),
            [OwnedItem::Stray(b"database: no".to_vec())]
        );
    }

    #[test]
    fn a_break_stops_at_once() {
        let mut seen = 0;
        let flow = SseEvents::default().feed(b"data: 1\n\ndata: 2\n\n", &mut |_| {
            seen += 1;
            ControlFlow::Break(())
        });
        assert_eq!((flow, seen), (Ok(ControlFlow::Break(())), 1));
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut events = SseEvents::with_cap(1000);
        let mut on_item = |_: SseItem<'_>| ControlFlow::Continue(());
        let refused = (0..100).find_map(|_| {
            events
                .feed(b"data: 0123456789012345678901234567890\n", &mut on_item)
                .err()
        });
        assert_eq!(refused, Some(TooLong { cap: 1000 }));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(
            text in proptest::collection::vec(
                prop_oneof![Just("data: "), Just("data:"), Just("event: x"), Just("\n"), Just("\r"), Just("\r\n"),
                            Just(": c"), Just("é"), Just("{}"), Just("error: "), Just("\u{feff}")],
                0..40,
            ),
            cuts in proptest::collection::vec(0usize..200, 0..6),
        ) {
            let text = text.concat();
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let reads: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            prop_assert_eq!(events(&reads), events(&[bytes]));
        }
    }
}
