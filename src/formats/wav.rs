//! WAV recordings: the header, the samples, and a header of our own (RIFF/WAVE, Microsoft's "Multimedia Programming Interface and Data
//! Specifications 1.0", 1991, and the registered format tags of mmreg.h).
//!
//! Recorders that were stopped leave lengths of zero or of the largest number in the header; then the samples go on to the end of the file.

use std::ops::Range;

/// Bytes of the header that [`Wav::header`] writes.
pub(crate) const HEADER_BYTES: usize = 44;
/// Length fields with this value or zero were never filled in.
const UNKNOWN_LENGTH: u32 = u32::MAX;
const PCM: u16 = 1;
const FLOAT: u16 = 3;
/// The real tag stands at the beginning of the sub-format.
const EXTENSIBLE: u16 = 0xfffe;
/// The sub-format's place in an extensible format chunk.
const SUB_FORMAT: Range<usize> = 24..26;
/// Rates that microphones have, with room on both sides, in samples per second.
const RATES: std::ops::RangeInclusive<u32> = 1_000..=768_000;
const MAX_CHANNELS: u16 = 64;

/// How a sample is written; all little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleFormat {
    /// Unsigned, with silence at 128.
    U8,
    /// Signed, as all that follow.
    I16,
    /// Three bytes.
    I24,
    /// Four bytes.
    I32,
    /// From -1 to 1.
    F32,
}

/// A recording's format and where its samples are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wav {
    /// How each sample is written.
    pub format: SampleFormat,
    /// Samples of a frame.
    pub channels: u16,
    /// Samples per second of each channel.
    pub rate: u32,
    /// The samples in the bytes that were read, in whole frames.
    pub samples: Range<usize>,
}

/// Why a header cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WavError {
    /// It is a beginning: more bytes may make it whole.
    Incomplete,
    /// It is something else.
    NotWav,
    /// A form of WAV that is not read, and what is special about it.
    Unsupported(String),
}

impl SampleFormat {
    /// Bytes of a sample.
    pub fn bytes(self) -> u16 {
        match self {
            Self::U8 => 1,
            Self::I16 => 2,
            Self::I24 => 3,
            Self::I32 | Self::F32 => 4,
        }
    }

    fn of(tag: u16, bits: u16) -> Option<Self> {
        Some(match (tag, bits) {
            (PCM, 8) => Self::U8,
            (PCM, 16) => Self::I16,
            (PCM, 24) => Self::I24,
            (PCM, 32) => Self::I32,
            (FLOAT, 32) => Self::F32,
            _ => return None,
        })
    }

    /// A sample from -1 to 1; `None` for other than the right number of bytes. What is not a number counts as silence.
    pub fn value(self, bytes: &[u8]) -> Option<f32> {
        let value = match (self, bytes) {
            (Self::U8, [a]) => (f32::from(*a) - 128.0) / 128.0,
            (Self::I16, [a, b]) => f32::from(i16::from_le_bytes([*a, *b])) / 32_768.0,
            (Self::I24, [a, b, c]) => whole([0, *a, *b, *c]),
            (Self::I32, [a, b, c, d]) => whole([*a, *b, *c, *d]),
            (Self::F32, [a, b, c, d]) => f32::from_le_bytes([*a, *b, *c, *d]),
            _ => return None,
        };
        Some(if value.is_finite() {
            value.clamp(-1.0, 1.0)
        } else {
            0.0
        })
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "loudness needs no more than a float's 24 bits"
)]
fn whole(bytes: [u8; 4]) -> f32 {
    i32::from_le_bytes(bytes) as f32 / 2_147_483_648.0
}

impl Wav {
    /// Reads the header at the beginning of `bytes`. The samples may go on beyond them.
    pub fn read(bytes: &[u8]) -> Result<Self, WavError> {
        match (bytes.get(..4), bytes.get(8..12)) {
            (Some(b"RIFF"), Some(b"WAVE")) => {}
            (Some(b"RIFF"), None) => return Err(WavError::Incomplete),
            (None, _) if b"RIFF".starts_with(bytes) => return Err(WavError::Incomplete),
            _ => return Err(WavError::NotWav),
        }
        let mut format = None;
        let mut at: usize = 12;
        loop {
            let id = bytes.get(at..at + 4).ok_or(WavError::Incomplete)?;
            let length = u32_at(bytes, at + 4).ok_or(WavError::Incomplete)?;
            let start = at + 8;
            let long = usize::try_from(length).unwrap_or(usize::MAX);
            if id == b"data" {
                let (sample, channels, rate) = format.ok_or(WavError::NotWav)?;
                let known = length != 0 && length != UNKNOWN_LENGTH;
                let held = bytes.len().saturating_sub(start);
                let count = if known { long.min(held) } else { held };
                let frame = usize::from(channels) * usize::from(SampleFormat::bytes(sample));
                return Ok(Self {
                    format: sample,
                    channels,
                    rate,
                    samples: start..start + count - count % frame,
                });
            }
            let end = start.saturating_add(long);
            if id == b"fmt " {
                let chunk = bytes.get(start..end).ok_or(WavError::Incomplete)?;
                format = Some(sample_format(chunk)?);
            }
            // Chunks begin at even offsets.
            at = end.saturating_add(long % 2);
            if at > bytes.len() {
                return Err(WavError::Incomplete);
            }
        }
    }

    /// Bytes of one sample of every channel.
    pub fn frame_bytes(&self) -> usize {
        usize::from(self.channels) * usize::from(self.format.bytes())
    }

    /// Seconds that `bytes` of samples last.
    #[allow(
        clippy::cast_precision_loss,
        reason = "a recording has fewer frames than a float counts exactly"
    )]
    pub fn seconds(&self, bytes: usize) -> f64 {
        (bytes / self.frame_bytes().max(1)) as f64 / f64::from(self.rate)
    }

    /// A header for `bytes` of samples of this format, without anything else that the recorder may have written about itself.
    pub fn header(&self, bytes: u32) -> [u8; HEADER_BYTES] {
        let sample = self.format.bytes();
        let frame = self.channels.saturating_mul(sample);
        let tag = if self.format == SampleFormat::F32 {
            FLOAT
        } else {
            PCM
        };
        let fields: [&[u8]; 13] = [
            b"RIFF",
            &bytes.saturating_add(36).to_le_bytes(),
            b"WAVE",
            b"fmt ",
            &16u32.to_le_bytes(),
            &tag.to_le_bytes(),
            &self.channels.to_le_bytes(),
            &self.rate.to_le_bytes(),
            &self.rate.saturating_mul(u32::from(frame)).to_le_bytes(),
            &frame.to_le_bytes(),
            &(sample * 8).to_le_bytes(),
            b"data",
            &bytes.to_le_bytes(),
        ];
        let mut header = [0; HEADER_BYTES];
        for (to, from) in header.iter_mut().zip(fields.into_iter().flatten()) {
            *to = *from;
        }
        header
    }
}

/// Format, channels and rate of a format chunk.
fn sample_format(chunk: &[u8]) -> Result<(SampleFormat, u16, u32), WavError> {
    let short = || WavError::Unsupported("its format chunk is too short".to_owned());
    let mut tag = u16_at(chunk, 0).ok_or_else(short)?;
    let channels = u16_at(chunk, 2).ok_or_else(short)?;
    let rate = u32_at(chunk, 4).ok_or_else(short)?;
    let frame = u16_at(chunk, 12).ok_or_else(short)?;
    let bits = u16_at(chunk, 14).ok_or_else(short)?;
    if tag == EXTENSIBLE {
        tag = u16_at(chunk, SUB_FORMAT.start).ok_or_else(short)?;
    }
    let Some(format) = SampleFormat::of(tag, bits) else {
        let what = format!("its samples have {bits} bits in the encoding {tag}");
        return Err(WavError::Unsupported(what));
    };
    if channels == 0 || channels > MAX_CHANNELS {
        return Err(WavError::Unsupported(format!("it has {channels} channels")));
    }
    if !RATES.contains(&rate) {
        let what = format!("it has {rate} samples per second");
        return Err(WavError::Unsupported(what));
    }
    if frame != channels * format.bytes() {
        let what = format!("its frames have {frame} bytes");
        return Err(WavError::Unsupported(what));
    }
    Ok((format, channels, rate))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk().copied();
    bytes.map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk().copied();
    bytes.map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn speech() -> Wav {
        Wav {
            format: SampleFormat::I16,
            channels: 1,
            rate: 16_000,
            samples: 44..48,
        }
    }

    fn file(wav: &Wav, length: u32, samples: &[u8]) -> Vec<u8> {
        [&wav.header(length)[..], samples].concat()
    }

    #[test]
    fn a_header_of_our_own_is_read_back() {
        let bytes = file(&speech(), 4, &[1, 2, 3, 4]);
        assert_eq!(bytes.len(), HEADER_BYTES + 4);
        assert_eq!(Wav::read(&bytes), Ok(speech()));
        assert!((speech().seconds(32_000) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_length_that_was_never_filled_in_means_the_rest_of_the_file() {
        for length in [0, u32::MAX, 1_000_000] {
            let bytes = file(&speech(), length, &[1, 2, 3, 4, 5]);
            // Half a frame at the end is left out.
            assert_eq!(Wav::read(&bytes).unwrap().samples, 44..48, "{length}");
        }
        // What follows the samples is no sound.
        let bytes = file(&speech(), 4, b"\x01\x02\x03\x04LIST\x04\0\0\0abcd");
        assert_eq!(Wav::read(&bytes).unwrap().samples, 44..48);
    }

    #[test]
    fn chunks_before_the_samples_are_skipped() {
        let mut bytes = file(&speech(), 4, &[1, 2, 3, 4]);
        // Three bytes and the one that makes the length even.
        bytes.splice(12..12, *b"note\x03\0\0\0abc\0");
        assert_eq!(Wav::read(&bytes).unwrap().samples, 56..60);
    }

    #[test]
    fn what_is_no_recording_says_so() {
        for (bytes, want) in [
            (&b""[..], WavError::Incomplete),
            (b"RI", WavError::Incomplete),
            (b"RIFF\0\0\0\0WAV", WavError::Incomplete),
            (
                b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0",
                WavError::Incomplete,
            ),
            (b"RIFF\0\0\0\0AVI LIST", WavError::NotWav),
            (b"OggS\0\x02", WavError::NotWav),
            (b"RIFF\0\0\0\0WAVEdata\x04\0\0\0", WavError::NotWav),
            (b"<html>", WavError::NotWav),
        ] {
            assert_eq!(Wav::read(bytes), Err(want), "{bytes:?}");
        }
        let with = |change: &dyn Fn(&mut Wav)| {
            let mut wav = speech();
            change(&mut wav);
            Wav::read(&file(&wav, 4, &[0; 4]))
        };
        let mut adpcm = file(&speech(), 4, &[0; 4]);
        adpcm[20] = 2;
        for read in [
            with(&|wav| wav.channels = 0),
            with(&|wav| wav.rate = 3),
            Wav::read(&adpcm),
        ] {
            assert!(matches!(read, Err(WavError::Unsupported(_))), "{read:?}");
        }
    }

    #[test]
    fn the_real_format_of_an_extensible_header_is_found() {
        let mut bytes = b"RIFF\0\0\0\0WAVEfmt \x28\0\0\0\xfe\xff\x02\0\x80\xbb\0\0\0\x70\x17\0\x08\0\x20\0\x16\0\x20\0\x03\0\0\0\x03\0".to_vec();
        bytes.extend([0; 14]);
        bytes.extend(b"data\x08\0\0\0\0\0\x80\x3f\0\0\0\xbf");
        let wav = Wav::read(&bytes).unwrap();
        assert_eq!(
            (wav.format, wav.channels, wav.rate),
            (SampleFormat::F32, 2, 48_000)
        );
        let samples = &bytes[wav.samples];
        let values: Vec<f32> = samples
            .chunks(4)
            .filter_map(|one| SampleFormat::F32.value(one))
            .collect();
        assert_eq!(values, [1.0, -0.5]);
    }

    #[test]
    fn samples_of_every_format_have_the_same_range() {
        for (format, least, silence, most) in [
            (SampleFormat::U8, &[0u8][..], &[128u8][..], &[255u8][..]),
            (SampleFormat::I16, &[0, 0x80], &[0, 0], &[0xff, 0x7f]),
            (
                SampleFormat::I24,
                &[0, 0, 0x80],
                &[0, 0, 0],
                &[0xff, 0xff, 0x7f],
            ),
            (
                SampleFormat::I32,
                &[0, 0, 0, 0x80],
                &[0; 4],
                &[0xff, 0xff, 0xff, 0x7f],
            ),
            (
                SampleFormat::F32,
                &[0, 0, 0x80, 0xbf],
                &[0; 4],
                &[0, 0, 0x80, 0x3f],
            ),
        ] {
            assert_eq!(format.value(least), Some(-1.0), "{format:?}");
            assert_eq!(format.value(silence), Some(0.0), "{format:?}");
            assert!(format.value(most).unwrap() > 0.99, "{format:?}");
            assert_eq!(format.value(&[0; 5]), None);
        }
        assert_eq!(SampleFormat::F32.value(&[0, 0, 0xc0, 0x7f]), Some(0.0));
    }

    proptest! {
        #[test]
        fn anything_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Wav::read(&bytes);
        }

        #[test]
        fn broken_headers_stay_inside_the_file(
            at in 0usize..48, byte in any::<u8>(), cut in 0usize..60, samples in proptest::collection::vec(any::<u8>(), 0..16)
        ) {
            let mut bytes = file(&speech(), 4, &samples);
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            bytes.truncate(bytes.len().saturating_sub(cut));
            if let Ok(wav) = Wav::read(&bytes) {
                prop_assert!(wav.samples.start <= wav.samples.end && wav.samples.end <= bytes.len());
                prop_assert_eq!(wav.samples.len() % wav.frame_bytes(), 0);
                prop_assert!(wav.seconds(wav.samples.len()).is_finite());
            }
        }

        /// What the fuzz target checks too.
        #[test]
        fn a_header_of_our_own_describes_the_same_samples(
            format in 0usize..5, channels in 1u16..4, rate in 1_000u32..100_000, samples in proptest::collection::vec(any::<u8>(), 0..64)
        ) {
            let formats = [SampleFormat::U8, SampleFormat::I16, SampleFormat::I24, SampleFormat::I32, SampleFormat::F32];
            let wav = Wav { format: formats[format], channels, rate, samples: 0..0 };
            let whole = samples.len() - samples.len() % wav.frame_bytes();
            let bytes = file(&wav, u32::try_from(whole).unwrap(), &samples[..whole]);
            let read = Wav::read(&bytes).unwrap();
            prop_assert_eq!((read.format, read.channels, read.rate), (wav.format, channels, rate));
            prop_assert_eq!(&bytes[read.samples.clone()], &samples[..whole]);
            for sample in bytes[read.samples].chunks(usize::from(wav.format.bytes())) {
                let value = wav.format.value(sample).unwrap();
                prop_assert!((-1.0..=1.0).contains(&value));
            }
        }

        #[test]
        fn every_beginning_of_a_recording_is_incomplete_or_whole(cut in 0usize..=60) {
            let bytes = file(&speech(), 16, &[7; 16]);
            match Wav::read(&bytes[..cut.min(bytes.len())]) {
                Ok(_) => prop_assert!(cut >= HEADER_BYTES),
                Err(error) => prop_assert_eq!(error, WavError::Incomplete),
            }
        }
    }
}
