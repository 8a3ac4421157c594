//! Lists of models from providers: sound entries or a problem, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::llm::parse_list;

fuzz_target!(|body: &[u8]| {
    match parse_list("fuzz", body) {
        Ok(page) => {
            assert!(page.models.len() <= body.len());
            for model in page.models {
                let names = [Some(model.id), model.successor];
                for name in names.into_iter().flatten() {
                    assert!(!name.is_empty() && name.len() <= body.len());
                    assert!(!name.contains(|c: char| c.is_control() || c.is_whitespace()));
                }
                assert!(model.window != Some(0) && model.output != Some(0));
            }
        }
        Err(problem) => {
            let line = problem.one_line();
            assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
        }
    }
});
