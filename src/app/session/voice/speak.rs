//! Reads answers aloud in voice mode, sentence by sentence while they arrive.

use std::sync::Arc;

use super::{Voice, VoiceMode};
use crate::app::session::orders::Orders;
use crate::app::session::run::Run;
use crate::app::session::ui_update::TurnOutcome;
use crate::app::session::worker_event::WorkerEvent;
use crate::app::session::worker_event::voice::VoiceEvent;
use crate::base::problem::Outcome;
use crate::chat::event::Event;
use crate::reply::speech::stream::SpeechStream;
use crate::voice::speech::{Speech, SpeechOptions};

pub(super) struct RunningSpeech {
    /// The turn of its answer.
    pub(super) id: u64,
    stream: SpeechStream,
    /// Starts with the first sentence.
    speech: Option<Speech>,
    /// The answer is complete.
    is_finished: bool,
}

impl Voice {
    /// Passes what happens in a turn on to the voice that reads it.
    pub(in crate::app::session) fn speak_event(
        &mut self,
        turn: u64,
        event: &Event,
        run: &Run,
        orders: &mut Orders,
    ) {
        if !self.reads_aloud() || self.muted == Some(turn) {
            return;
        }
        let sentences = match event {
            Event::Delta(piece) => self.answer_stream(turn).push(piece),
            // What was said before tools are called is complete.
            Event::ToolsStarted(_) => self.answer_stream(turn).finish(),
            _ => return,
        };
        self.speak(sentences, run, orders);
    }

    /// A turn has ended.
    pub(in crate::app::session) fn end_speech(
        &mut self,
        turn: u64,
        outcome: TurnOutcome,
        run: &Run,
        orders: &mut Orders,
    ) {
        // What the user typed is sent, unless they began it in this very answer.
        self.is_paused &= self.paused_in == Some(turn);
        if outcome != TurnOutcome::Complete {
            self.stop_speech();
            return;
        }
        if self.muted == Some(turn) || self.speech.is_none() {
            return;
        }
        let sentences = self.answer_stream(turn).finish();
        self.speak(sentences, run, orders);
        if let Some(running) = &mut self.speech {
            running.is_finished = true;
            match &mut running.speech {
                Some(speech) => speech.finish(),
                None => self.speech = None,
            }
        }
    }

    pub(in crate::app::session) fn reads_aloud(&self) -> bool {
        matches!(&self.mode, VoiceMode::On(Some(_)))
    }

    /// The only language of the voice that reads answers, by its English name.
    pub(in crate::app::session) fn spoken_language(&self) -> Option<&'static str> {
        match &self.mode {
            VoiceMode::On(Some(speaker)) => speaker.only_language().map(|language| language.name),
            VoiceMode::On(None) | VoiceMode::Off | VoiceMode::Starting(_) => None,
        }
    }

    /// Whether something is being said.
    pub(super) fn is_speaking(&self) -> bool {
        let running = self.speech.as_ref();
        running.is_some_and(|running| running.speech.is_some())
    }

    /// The answer of this turn, as it is spoken.
    fn answer_stream(&mut self, turn: u64) -> &mut SpeechStream {
        // What is left of an earlier answer gives way.
        self.speech.take_if(|running| running.id != turn);
        let running = self.speech.get_or_insert_with(|| RunningSpeech {
            id: turn,
            stream: SpeechStream::default(),
            speech: None,
            is_finished: false,
        });
        &mut running.stream
    }

    fn speak(&mut self, sentences: Vec<String>, run: &Run, orders: &mut Orders) {
        for sentence in sentences {
            if let Err(problem) = self.say_aloud(sentence, run) {
                self.stop_speech();
                orders.fail(problem);
                return;
            }
        }
    }

    /// Speaks a sentence after those before it.
    fn say_aloud(&mut self, sentence: String, run: &Run) -> Outcome<()> {
        let (VoiceMode::On(Some(speaker)), Some(running)) = (&self.mode, &mut self.speech) else {
            return Ok(());
        };
        if running.speech.is_none() {
            let (id, inbox) = (running.id, Arc::clone(&run.inbox));
            let options = SpeechOptions {
                speaker: speaker.clone(),
                language: self.language,
                env: run.context.env.clone(),
                supervisor: run.supervisor(),
            };
            running.speech = Some(Speech::start(options, &run.stop, move |outcome| {
                inbox.send(WorkerEvent::Voice(id, VoiceEvent::SpeechEnded(outcome)));
            })?);
        }
        if let Some(speech) = &running.speech {
            speech.say(sentence);
        }
        Ok(())
    }

    /// Everything was said, or the speaker has failed.
    pub(super) fn speech_ended(&mut self, turn: u64, outcome: Outcome<()>, orders: &mut Orders) {
        let ended = self.speech.take_if(|running| running.id == turn);
        let Some(running) = ended else {
            return;
        };
        if let Err(problem) = outcome {
            // The rest of the answer is not tried again.
            self.muted = (!running.is_finished).then_some(turn);
            if !problem.is_cancelled() {
                orders.fail(problem);
            }
        }
    }

    /// Stops the speech at once, for the whole answer. True when there was any.
    pub(super) fn stop_speech(&mut self) -> bool {
        let Some(running) = self.speech.take() else {
            return false;
        };
        self.muted = (!running.is_finished).then_some(running.id);
        running.speech.is_some()
    }
}
