//! The mouse wheel without mouse reports: terminals send it as arrow keys while a program has the alternate screen (xterm's ctlseqs, mode 1007).
//!
//! One turn is several keys at once, which no hand types and no key repeats. A touchpad that moves slowly sends them one by one, but sooner after each other
//! than fingers type and than a held key begins to repeat. Mouse reports would tell the wheel apart without guessing, but the terminal could not select text
//! with the mouse any more. That a key was not let go would too (kitty's keyboard protocol), but kitty 0.26 sends Enter twice then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::Input;

/// An arrow this soon after a turn belongs to it: touchpads slow down line by line.
const TURN: Duration = Duration::from_millis(100);
/// No finger types the same key twice within this time, and no held key begins to repeat.
const QUICKEST: Duration = Duration::from_millis(80);
/// An arrow within this time after one that was a key may be its repetition.
const REPEAT_DELAY: Duration = Duration::from_millis(1_000);

/// Whether a single arrow key matters so much that it waits until it is certain to be one.
#[derive(Debug, Clone, Default)]
pub(super) struct ArrowCare(Arc<AtomicBool>);

impl ArrowCare {
    /// Says whether an arrow key would do something that the wheel must not do.
    pub(super) fn set(&self, matters: bool) {
        self.0.store(matters, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// When there was an arrow, and in which direction: 1 is down, -1 is up.
type Moment = (Instant, isize);

/// Tells the wheel from arrow keys.
#[derive(Debug, Default)]
pub(super) struct WheelDetector {
    /// When it last turned.
    turned: Option<Moment>,
    /// When an arrow was last a key.
    typed: Option<Moment>,
    care: ArrowCare,
    /// The terminal reports the wheel: arrows are keys.
    is_reported: bool,
    /// An arrow that is a key unless another one follows at once.
    unsure: Option<(Moment, Input)>,
}

impl WheelDetector {
    pub(super) fn new(care: ArrowCare) -> Self {
        Self {
            care,
            ..Self::default()
        }
    }

    /// Replaces the arrow keys that are turns of the wheel in what arrived at once, at `now`.
    pub(super) fn detect(&mut self, batch: Vec<Input>, now: Instant) -> Vec<Input> {
        let mut out = Vec::with_capacity(batch.len());
        let mut batch = batch.into_iter().peekable();
        while let Some(input) = batch.next() {
            // A terminal that reports the wheel sends no arrows for it.
            self.is_reported |= matches!(input, Input::Wheel(_));
            let Some(direction) = rows(&input).filter(|_| !self.is_reported) else {
                out.extend(self.settle());
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
            let is_recent = |moment: Option<Moment>, limit| {
                moment.is_some_and(|(at, before)| {
                    before == direction && now.saturating_duration_since(at) < limit
                })
            };
            let unsure = self.unsure.as_ref().map(|(moment, _)| *moment);
            let is_second = is_recent(unsure, QUICKEST);
            if is_second {
                self.unsure = None;
                count += 1;
            } else {
                out.extend(self.settle());
            }
            if count > 1 || is_recent(self.turned, TURN) {
                self.turned = Some((now, direction));
                out.push(Input::Wheel(direction * count));
            } else if self.care.get() && !is_recent(self.typed, REPEAT_DELAY) {
                self.unsure = Some(((now, direction), input));
            } else {
                self.typed = Some((now, direction));
                out.push(input);
            }
        }
        out
    }

    /// How long to wait for what makes an arrow a turn of the wheel; `None` when none is unsure.
    pub(super) fn pending_timeout(&self, now: Instant) -> Option<Duration> {
        let ((at, _), _) = self.unsure.as_ref()?;
        Some((*at + QUICKEST).saturating_duration_since(now))
    }

    /// The key that an arrow was, when the time of another one is over.
    pub(super) fn give_up(&mut self, now: Instant) -> Option<Input> {
        self.pending_timeout(now)
            .filter(Duration::is_zero)
            .and_then(|_| self.settle())
    }

    /// The arrow that was unsure is a key.
    fn settle(&mut self) -> Option<Input> {
        let (moment, key) = self.unsure.take()?;
        self.typed = Some(moment);
        Some(key)
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

    /// A detector while arrows matter.
    fn careful() -> WheelDetector {
        let care = ArrowCare::default();
        care.set(true);
        WheelDetector::new(care)
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
        for at in [40, 130] {
            let found = wheel.detect(vec![up.clone()], after(at));
            assert_eq!(found, [Input::Wheel(-1)], "{at}");
        }
        assert_eq!(wheel.detect(vec![down.clone()], after(140)), [down]);
        assert_eq!(wheel.detect(vec![up.clone()], after(300)), [up]);
    }

    #[test]
    fn a_touchpad_that_sends_single_arrows_is_quicker_than_fingers() {
        let up = key(KeyCode::Up);
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut wheel = careful();
        assert_eq!(wheel.detect(vec![up.clone()], start), []);
        for (at, rows) in [(60, -2), (120, -1)] {
            let found = wheel.detect(vec![up.clone()], after(at));
            assert_eq!(found, [Input::Wheel(rows)], "{at}");
        }
        // A key alone, a moment later.
        assert_eq!(wheel.detect(vec![up.clone()], after(1_000)), []);
        assert_eq!(wheel.give_up(after(1_050)), None);
        let left = wheel.pending_timeout(after(1_050));
        assert_eq!(left, Some(Duration::from_millis(30)));
        assert_eq!(wheel.give_up(after(1_080)), Some(up.clone()));
        assert_eq!(wheel.pending_timeout(after(1_080)), None);
        // What is typed on makes it a key.
        assert_eq!(wheel.detect(vec![up.clone()], after(3_000)), []);
        let letter = key(KeyCode::Char('a'));
        let found = wheel.detect(vec![letter.clone()], after(3_020));
        assert_eq!(found, [up, letter]);
    }

    #[test]
    fn a_held_key_is_no_wheel() {
        let up = key(KeyCode::Up);
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut wheel = careful();
        assert_eq!(wheel.detect(vec![up.clone()], start), []);
        assert_eq!(wheel.give_up(after(80)), Some(up.clone()));
        // The delay of the repetition, then its rate.
        for at in [660, 690, 720, 750, 780] {
            let found = wheel.detect(vec![up.clone()], after(at));
            assert_eq!(found, std::slice::from_ref(&up), "{at}");
        }
    }

    #[test]
    fn where_the_wheel_is_reported_arrows_are_keys_however_quick() {
        let up = key(KeyCode::Up);
        let mut wheel = careful();
        let both = vec![up.clone(), up.clone()];
        let found = wheel.detect(both.clone(), Instant::now());
        assert_eq!(found, [Input::Wheel(-2)]);
        let report = vec![Input::Wheel(-3)];
        assert_eq!(wheel.detect(report.clone(), Instant::now()), report);
        assert_eq!(wheel.detect(both.clone(), Instant::now()), both);
    }

    #[test]
    fn where_an_arrow_does_no_harm_it_has_its_effect_at_once() {
        let up = key(KeyCode::Up);
        let mut wheel = WheelDetector::default();
        assert_eq!(wheel.detect(vec![up.clone()], Instant::now()), [up]);
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
