//! What keys and reports do to a recording, without a microphone.

use super::*;

struct Alone {
    voice: Voice,
    run: Run,
    orders: Orders,
}

impl Alone {
    /// Somebody records by `/v 10`.
    fn recording() -> (Self, u64) {
        let mut alone = Self {
            voice: Voice::default(),
            run: Run::for_tests(),
            orders: Orders::default(),
        };
        let (run, orders) = (&alone.run, &mut alone.orders);
        alone.voice.record_once("10", run, orders).unwrap();
        let id = alone.voice.listening.as_ref().unwrap().id;
        alone.voice.handle(id, VoiceEvent::Recording, orders);
        (alone, id)
    }

    fn requests(&mut self) -> Vec<CoreRequest> {
        let mut all = Vec::new();
        while let Some((request, waiting)) = self.orders.next_request() {
            all.push(request);
            self.orders.put_back(waiting);
        }
        all
    }
}

#[test]
fn a_recording_is_shown_ended_by_a_key_and_sent() {
    let (mut alone, id) = Alone::recording();
    assert!(alone.voice.takes_keys() && alone.voice.is_busy());
    let again = alone.voice.record_once("", &alone.run, &mut alone.orders);
    assert!(again.is_err(), "one at a time");
    let orders = &mut alone.orders;
    assert!(!alone.voice.key(VoiceKey::Other, false, orders));
    assert!(alone.voice.key(VoiceKey::Typing, false, orders));
    alone.voice.handle(id, VoiceEvent::Transcribing, orders);
    assert!(!alone.voice.takes_keys());
    let said = Transcript {
        text: "hello".to_owned(),
        language: None,
    };
    (alone.voice).handle(id, VoiceEvent::Heard(Ok(Some(said))), &mut alone.orders);
    assert!(!alone.voice.is_busy());
    let requests = alone.requests();
    assert!(
        matches!(&requests[..], [CoreRequest::Heard(said), CoreRequest::SendNext] if said.text == "hello")
    );
}

#[test]
fn esc_drops_a_recording_and_what_comes_late_of_it() {
    let (mut alone, id) = Alone::recording();
    assert!(alone.voice.cancel(&mut alone.orders));
    assert!(!alone.voice.cancel(&mut alone.orders));
    let said = Transcript {
        text: "late".to_owned(),
        language: None,
    };
    (alone.voice).handle(id, VoiceEvent::Heard(Ok(Some(said))), &mut alone.orders);
    let requests = alone.requests();
    assert!(matches!(&requests[..], [CoreRequest::SendNext]));
}

#[test]
fn seconds_are_a_number_within_the_limits() {
    for words in ["0", "x", "-1", "99999999"] {
        let mut voice = Voice::default();
        let run = Run::for_tests();
        let refused = voice.record_once(words, &run, &mut Orders::default());
        assert!(refused.is_err() && !voice.is_busy(), "{words}");
    }
}
