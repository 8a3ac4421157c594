//! Speaks sentences one after the other on a thread of its own, while further ones arrive.

use std::path::PathBuf;
use std::thread;

use crossbeam_channel::{Sender, unbounded};

use super::languages::Language;
use super::speaker::Speaker;
use crate::base::cancel::{Cancel, OnFire};
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};

/// Speech under way; dropping it stops it.
pub(crate) struct Speech {
    /// `None` when no further sentence comes.
    sentences: Option<Sender<String>>,
    stop: Cancel,
    _with_parent: OnFire,
}

/// What a speech is spoken with.
#[derive(Debug, Clone)]
pub(crate) struct SpeechOptions {
    pub speaker: Speaker,
    /// The language of the text, if it is known.
    pub language: Option<&'static Language>,
    pub env: Env,
    /// This executable; see [`crate::proc::child::ProgramSpec::supervisor`].
    pub supervisor: Option<PathBuf>,
}

impl Speech {
    /// Starts to speak what [`Speech::say`] adds. `on_end` is called once everything is said, or when the speaker has failed.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn start(
        options: SpeechOptions,
        parent: &Cancel,
        on_end: impl FnOnce(Outcome<()>) + Send + 'static,
    ) -> Outcome<Self> {
        let (stop, with_parent) = parent.child();
        let (give, take) = unbounded::<String>();
        let halt = stop.clone();
        thread::Builder::new()
            .name("speech".to_owned())
            .spawn(move || {
                let say = |sentence: String| {
                    let SpeechOptions {
                        speaker,
                        language,
                        env,
                        supervisor,
                    } = &options;
                    speaker.say(&sentence, *language, env, supervisor.as_deref(), &halt)
                };
                on_end(take.iter().try_for_each(say));
            })
            .map_err(|error| Problem::system("Cannot start a thread for the speech", error))?;
        Ok(Self {
            sentences: Some(give),
            stop,
            _with_parent: with_parent,
        })
    }

    pub(crate) fn say(&self, sentence: String) {
        if let Some(sentences) = &self.sentences {
            // After a failure nobody listens.
            let _ = sentences.send(sentence);
        }
    }

    /// No further sentence comes.
    pub(crate) fn finish(&mut self) {
        self.sentences = None;
    }
}

impl Drop for Speech {
    fn drop(&mut self) {
        self.stop.fire();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::tests::script;
    use crossbeam_channel::bounded;
    use std::fs;
    use std::path::Path;
    use std::time::{Duration, Instant};

    fn options(home: &Path, text: &str) -> SpeechOptions {
        let talk = script(home, "talk", text);
        let env = Env::from([
            ("PATH", "/usr/bin:/bin"),
            ("HOME", home.to_str().unwrap()),
            ("MARVIN_SPEAK_COMMAND", talk.to_str().unwrap()),
        ]);
        SpeechOptions {
            speaker: Speaker::find(&env).unwrap().unwrap(),
            language: None,
            env,
            supervisor: None,
        }
    }

    fn wait_for(path: &Path) {
        let until = Instant::now() + Duration::from_secs(10);
        while !path.exists() {
            assert!(Instant::now() < until, "{}", path.display());
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn sentences_are_spoken_in_order_while_others_arrive() {
        let home = tempfile::tempdir().unwrap();
        let (end, ended) = bounded(1);
        let options = options(home.path(), "cat >> $HOME/said");
        let mut speech = Speech::start(options, &Cancel::new(), move |outcome| {
            end.send(outcome).unwrap();
        })
        .unwrap();
        speech.say("One.".to_owned());
        wait_for(&home.path().join("said"));
        assert!(ended.try_recv().is_err());
        speech.say("Two.".to_owned());
        speech.say("Three.".to_owned());
        speech.finish();
        ended
            .recv_timeout(Duration::from_secs(10))
            .unwrap()
            .unwrap();
        let said = fs::read_to_string(home.path().join("said")).unwrap();
        assert_eq!(said, "One.\nTwo.\nThree.\n");
    }

    #[test]
    fn a_speaker_that_hangs_stops_with_its_parent() {
        let home = tempfile::tempdir().unwrap();
        let (end, ended) = bounded(1);
        let parent = Cancel::new();
        let script = "trap '' TERM; touch $HOME/begun; while :; do sleep 1; done";
        let speech = Speech::start(options(home.path(), script), &parent, move |outcome| {
            end.send(outcome).unwrap();
        })
        .unwrap();
        speech.say("One.".to_owned());
        speech.say("Two.".to_owned());
        wait_for(&home.path().join("begun"));
        parent.fire();
        let outcome = ended.recv_timeout(Duration::from_secs(10)).unwrap();
        assert!(outcome.unwrap_err().is_cancelled());
    }

    #[test]
    fn a_failure_ends_the_speech() {
        let home = tempfile::tempdir().unwrap();
        let (end, ended) = bounded(1);
        let options = options(home.path(), "cat >> $HOME/said; exit 1");
        let speech = Speech::start(options, &Cancel::new(), move |outcome| {
            end.send(outcome).unwrap();
        })
        .unwrap();
        speech.say("One.".to_owned());
        speech.say("Two.".to_owned());
        let outcome = ended.recv_timeout(Duration::from_secs(10)).unwrap();
        assert!(outcome.unwrap_err().what.contains("could not speak"));
        speech.say("Three.".to_owned());
        let said = fs::read_to_string(home.path().join("said")).unwrap();
        assert_eq!(said, "One.\n");
    }
}
