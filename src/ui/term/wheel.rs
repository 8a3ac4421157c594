//! The mouse wheel without mouse reports: terminals send it as arrow keys while a program has the alternate screen (xterm's ctlseqs, mode 1007).
//!
//! One turn is several keys at once, which no hand types and no key repeats. Mouse reports would tell the wheel apart without guessing, but the terminal
//! could not select text with the mouse any more.

use std::time::{Duration, Instant};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::Input;

/// A single arrow this soon after a turn belongs to it: touchpads slow down line by line.
const TURN: Duration = Duration::from_millis(60);

/// Tells the wheel from arrow keys.
#[derive(Debug, Default)]
pub(super) struct WheelDetector {
    /// When it last turned, and in which direction.
    last: Option<(Instant, isize)>,
}

impl WheelDetector {
    /// Replaces the arrow keys that are turns of the wheel in what arrived at once, at `now`.
    pub(super) fn detect(&mut self, batch: Vec<Input>, now: Instant) -> Vec<Input> {
        let mut out = Vec::with_capacity(batch.len());
        let mut batch = batch.into_iter().peekable();
        while let Some(input) = batch.next() {
            let Some(direction) = rows(&input) else {
                out.push(input);
                continue;
            };
            let mut count = 1;
            while batch
                .next_if(|next| rows(next) == Some(direction))
                .is_some()
            {
                count += 1;
            }
            let goes_on = self.last.is_some_and(|(at, before)| {
                before == direction && now.saturating_duration_since(at) < TURN
            });
            if count > 1 || goes_on {
                self.last = Some((now, direction));
                out.push(Input::Wheel(direction * count));
            } else {
                out.push(input);
            }
        }
        out
    }
}

/// Whether bytes are nothing but arrow keys that may come from the wheel.
pub(super) fn is_arrows(bytes: &[u8]) -> bool {
    let arrows = [b"\x1b[A", b"\x1b[B", b"\x1bOA", b"\x1bOB"];
    !bytes.is_empty()
        && bytes
            .chunks(3)
            .all(|key| arrows.iter().any(|arrow| *arrow == key))
}

/// One row down or up for an arrow key alone.
fn rows(input: &Input) -> Option<isize> {
    let Input::Key(KeyEvent {
        code,
        modifiers: KeyModifiers::NONE,
        kind: KeyEventKind::Press,
        ..
    }) = input
    else {
        return None;
    };
    match code {
        KeyCode::Up => Some(-1),
        KeyCode::Down => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode) -> Input {
        Input::Key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn several_arrows_at_once_are_the_wheel_and_one_is_a_key() {
        let (up, down, left) = (key(KeyCode::Up), key(KeyCode::Down), key(KeyCode::Left));
        let shifted = Input::Key(KeyEvent::new(KeyCode::Up, KeyModifiers::SHIFT));
        for (batch, expected) in [
            (vec![up.clone()], vec![up.clone()]),
            (vec![up.clone(); 3], vec![Input::Wheel(-3)]),
            (vec![down.clone(); 5], vec![Input::Wheel(5)]),
            (
                vec![up.clone(), down.clone(), down.clone()],
                vec![up.clone(), Input::Wheel(2)],
            ),
            (vec![left.clone(); 3], vec![left.clone(); 3]),
            (vec![shifted.clone(); 2], vec![shifted.clone(); 2]),
            (
                vec![up.clone(), left.clone(), up.clone()],
                vec![up.clone(), left, up.clone()],
            ),
        ] {
            let found = WheelDetector::default().detect(batch.clone(), Instant::now());
            assert_eq!(found, expected, "{batch:?}");
        }
    }

    #[test]
    fn single_arrows_soon_after_a_turn_belong_to_it() {
        let (up, down) = (key(KeyCode::Up), key(KeyCode::Down));
        let mut wheel = WheelDetector::default();
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        assert_eq!(wheel.detect(vec![up.clone(); 2], start), [Input::Wheel(-2)]);
        assert_eq!(
            wheel.detect(vec![up.clone()], after(40)),
            [Input::Wheel(-1)]
        );
        assert_eq!(
            wheel.detect(vec![up.clone()], after(80)),
            [Input::Wheel(-1)]
        );
        assert_eq!(wheel.detect(vec![down.clone()], after(90)), [down]);
        assert_eq!(wheel.detect(vec![up.clone()], after(200)), [up]);
    }

    #[test]
    fn only_whole_arrows_are_waited_for() {
        for (bytes, expected) in [
            (&b"\x1b[A"[..], true),
            (b"\x1bOB\x1bOB", true),
            (b"\x1b[A\x1b[", false),
            (b"\x1b[C", false),
            (b"a", false),
            (b"", false),
        ] {
            assert_eq!(is_arrows(bytes), expected, "{bytes:?}");
        }
    }
}
