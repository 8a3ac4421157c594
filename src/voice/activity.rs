//! How loud a recording is, and whether somebody speaks in it.

use std::ops::Range;
use std::time::Duration;

use crate::formats::wav::Wav;

/// Length of a stretch whose loudness is measured, in milliseconds.
pub(crate) const WINDOW_MS: u32 = 100;
/// Decibels below full scale at which a voice begins; a quiet room is at -60, a voice at the microphone between -35 and -15.
const VOICE_DB: f32 = -45.0;
/// A pause may be loud in a loud room: it is this much below the loudest stretch, in decibels.
const PAUSE_DROP_DB: f32 = 18.0;
/// Less than this is a click, in milliseconds.
const MIN_VOICE_MS: u32 = 200;
/// A pause of this length ends what is said, in milliseconds.
const PAUSE_MS: u32 = 2_000;
/// Stretches kept before and after a voice: words begin and end softly.
const AIR_WINDOWS: usize = 5;
/// The loudness of digital silence.
pub(crate) const SILENCE_DB: f32 = -96.0;
/// Loudness of the lowest and the highest step of a meter.
const METER_DB: Range<f32> = -60.0..-12.0;
/// Steps of a meter, besides zero.
pub(crate) const METER_STEPS: u8 = 8;

/// Measures a recording piece by piece.
pub(crate) struct VoiceActivity {
    wav: Wav,
    /// Samples of all channels in a window.
    window: usize,
    /// The beginning of a sample that the next piece completes.
    open: Vec<u8>,
    sum: f64,
    count: usize,
    level: f32,
    loudest: f32,
    voice_ms: u32,
    pause_ms: u32,
    /// Windows that are complete, and the first and last of them with a voice.
    windows: usize,
    voice: Option<(usize, usize)>,
}

impl VoiceActivity {
    pub(crate) fn new(wav: &Wav) -> Self {
        let rate = usize::try_from(wav.rate).unwrap_or(usize::MAX);
        let frames = rate.saturating_mul(WINDOW_MS as usize) / 1_000;
        Self {
            window: frames.max(1).saturating_mul(usize::from(wav.channels)),
            wav: wav.clone(),
            open: Vec::new(),
            sum: 0.0,
            count: 0,
            level: SILENCE_DB,
            loudest: SILENCE_DB,
            voice_ms: 0,
            pause_ms: 0,
            windows: 0,
            voice: None,
        }
    }

    /// Adds the samples that came next.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let size = usize::from(self.wav.format.bytes());
        let mut bytes = bytes;
        if !self.open.is_empty() {
            let missing = size.saturating_sub(self.open.len()).min(bytes.len());
            let (first, rest) = bytes.split_at(missing);
            self.open.extend_from_slice(first);
            bytes = rest;
            if self.open.len() < size {
                return;
            }
            let sample = std::mem::take(&mut self.open);
            self.sample(&sample);
        }
        let samples = bytes.chunks_exact(size);
        self.open = samples.remainder().to_vec();
        samples.for_each(|sample| self.sample(sample));
    }

    fn sample(&mut self, bytes: &[u8]) {
        let value = f64::from(self.wav.format.value(bytes).unwrap_or_default());
        self.sum += value * value;
        self.count += 1;
        if self.count >= self.window {
            self.close_window();
        }
    }

    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "a loudness in decibels"
    )]
    fn close_window(&mut self) {
        let mean = self.sum / self.count as f64;
        (self.sum, self.count) = (0.0, 0);
        self.level = if mean > 0.0 {
            (10.0 * libm::log10(mean)).max(f64::from(SILENCE_DB)) as f32
        } else {
            SILENCE_DB
        };
        self.loudest = self.loudest.max(self.level);
        if self.level >= VOICE_DB.max(self.loudest - PAUSE_DROP_DB) {
            self.voice_ms = self.voice_ms.saturating_add(WINDOW_MS);
            self.pause_ms = 0;
            let first = self.voice.map_or(self.windows, |(first, _)| first);
            self.voice = Some((first, self.windows));
        } else {
            self.pause_ms = self.pause_ms.saturating_add(WINDOW_MS);
        }
        self.windows += 1;
    }

    /// Loudness of the latest stretch, in decibels below full scale.
    pub(crate) fn level(&self) -> f32 {
        self.level
    }

    /// Loudness of the loudest stretch.
    pub(crate) fn loudest(&self) -> f32 {
        self.loudest
    }

    /// Somebody has spoken.
    pub(crate) fn has_voice(&self) -> bool {
        self.voice_ms >= MIN_VOICE_MS
    }

    /// Nobody has spoken for so long.
    pub(crate) fn is_unused_for(&self, time: Duration) -> bool {
        let passed = Duration::from_millis(u64::from(WINDOW_MS))
            * u32::try_from(self.windows).unwrap_or(u32::MAX);
        !self.has_voice() && passed >= time
    }

    /// Where in `length` bytes of samples somebody speaks, with some air around it.
    pub(crate) fn voice_span(&self, length: usize) -> Range<usize> {
        let Some((first, last)) = self.voice else {
            return 0..length;
        };
        let window = self
            .window
            .saturating_mul(usize::from(self.wav.format.bytes()));
        let start = first.saturating_sub(AIR_WINDOWS).saturating_mul(window);
        let end = (last + 1 + AIR_WINDOWS).saturating_mul(window);
        start.min(length)..end.min(length)
    }

    /// Somebody has spoken and then been silent.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_voice() && self.pause_ms >= PAUSE_MS
    }
}

/// The step of a meter for a loudness, from zero to [`METER_STEPS`].
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the steps"
)]
pub(crate) fn meter_step(level: f32) -> u8 {
    let part = (level - METER_DB.start) / (METER_DB.end - METER_DB.start);
    (part.clamp(0.0, 1.0) * f32::from(METER_STEPS)).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::wav::SampleFormat;
    use proptest::prelude::*;

    fn wav(channels: u16) -> Wav {
        Wav {
            format: SampleFormat::I16,
            channels,
            rate: 16_000,
            samples: 44..44,
        }
    }

    /// A square wave of this amplitude.
    fn sound(seconds: f64, amplitude: i16) -> Vec<u8> {
        let wave = [amplitude, -amplitude];
        let count = (seconds * 16_000.0) as usize;
        wave.into_iter()
            .cycle()
            .take(count)
            .flat_map(i16::to_le_bytes)
            .collect()
    }

    #[test]
    fn a_voice_is_told_from_silence_and_clicks() {
        for (pieces, voice) in [
            (&[(3.0, 0)][..], false),
            (&[(3.0, 40)], false),
            (&[(1.0, 0), (0.1, 9_000), (1.0, 0)], false),
            (&[(1.0, 20), (0.4, 3_000), (1.0, 20)], true),
        ] {
            let mut activity = VoiceActivity::new(&wav(1));
            for (seconds, amplitude) in pieces {
                activity.push(&sound(*seconds, *amplitude));
            }
            assert_eq!(activity.has_voice(), voice, "{pieces:?}");
            assert!(!activity.has_ended(), "{pieces:?}");
        }
    }

    #[test]
    fn a_pause_after_a_voice_ends_it_in_a_loud_room_too() {
        for noise in [0, 20, 600] {
            let mut activity = VoiceActivity::new(&wav(1));
            activity.push(&sound(1.0, 8_000));
            activity.push(&sound(1.9, noise));
            assert!(!activity.has_ended(), "{noise}");
            activity.push(&sound(0.2, noise));
            assert!(activity.has_ended(), "{noise}");
            activity.push(&sound(0.2, 8_000));
            assert!(!activity.has_ended(), "{noise}");
        }
        let mut never = VoiceActivity::new(&wav(1));
        never.push(&sound(60.0, 0));
        assert!(!never.has_ended() && never.loudest() <= SILENCE_DB);
    }

    #[test]
    fn only_what_was_said_is_kept_with_some_air_around_it() {
        let mut activity = VoiceActivity::new(&wav(1));
        let bytes = [sound(3.0, 0), sound(1.0, 8_000), sound(2.0, 0)].concat();
        activity.push(&bytes);
        assert_eq!(activity.voice_span(bytes.len()), 80_000..144_000);
        let mut quiet = VoiceActivity::new(&wav(1));
        quiet.push(&sound(3.0, 0));
        assert_eq!(quiet.voice_span(96_000), 0..96_000);
        assert!(quiet.is_unused_for(Duration::from_secs(3)));
        assert!(!quiet.is_unused_for(Duration::from_secs(4)));
        assert!(!activity.is_unused_for(Duration::from_secs(3)));
    }

    #[test]
    fn the_meter_grows_with_the_loudness() {
        assert_eq!(meter_step(SILENCE_DB), 0);
        assert_eq!(meter_step(-36.0), 4);
        assert_eq!(meter_step(0.0), METER_STEPS);
        assert_eq!(meter_step(f32::NAN), 0);
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_measure_the_same(cuts in proptest::collection::vec(1usize..700, 0..40), channels in 1u16..4) {
            let bytes = [sound(0.3, 5_000), sound(0.5, 10)].concat();
            let mut whole = VoiceActivity::new(&wav(channels));
            whole.push(&bytes);
            let mut cut = VoiceActivity::new(&wav(channels));
            let mut rest = &bytes[..];
            for at in cuts {
                let (piece, after) = rest.split_at(at.min(rest.len()));
                cut.push(piece);
                rest = after;
            }
            cut.push(rest);
            prop_assert_eq!((cut.level(), cut.loudest(), cut.voice_ms), (whole.level(), whole.loudest(), whole.voice_ms));
        }
    }
}
