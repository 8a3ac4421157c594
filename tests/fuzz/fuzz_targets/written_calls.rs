//! Answers of models: calls are found or not, and none is left in what is printed, or on the screen while it arrives.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::reply::{KnownTools, drafted, is_malformed, printed, read};

fuzz_target!(|answer: &str| {
    let tools = KnownTools::of_names(["web_search", "browse_web"]);
    let calls = read(answer, &tools);
    assert!(calls.len() <= 5);
    assert!(calls.iter().all(|call| !call.name.trim().is_empty()));
    is_malformed(answer);
    assert!(!printed(answer).contains("```tool_call"));
    for size in [1, 3, 1000] {
        assert!(!drafted(answer, size).contains("```tool_call"));
    }
});
