//! Recordings from any program: the samples stay inside the file, a header of our own describes them, and a beginning is never taken for something else.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::wav::{Wav, WavError};

fuzz_target!(|bytes: &[u8]| {
    match Wav::read(bytes) {
        Ok(wav) => {
            let samples = &bytes[wav.samples.clone()];
            assert_eq!(samples.len() % wav.frame_bytes(), 0);
            assert!(wav.seconds(samples.len()).is_finite());
            for sample in samples.chunks(usize::from(wav.format.bytes())) {
                let value = wav.format.value(sample).unwrap();
                assert!((-1.0..=1.0).contains(&value));
            }
            let length = u32::try_from(samples.len()).unwrap();
            let own = [&wav.header(length)[..], samples].concat();
            let again = Wav::read(&own).unwrap();
            assert_eq!(
                (again.format, again.channels, again.rate),
                (wav.format, wav.channels, wav.rate)
            );
            assert_eq!(&own[again.samples], samples);
        }
        // What is missing at the end cannot make it another kind of file.
        Err(WavError::Incomplete) => {
            for cut in 0..bytes.len() {
                let part = Wav::read(&bytes[..cut]);
                assert!(matches!(part, Err(WavError::Incomplete)), "{cut}");
            }
        }
        Err(WavError::NotWav | WavError::Unsupported(_)) => {}
    }
});
