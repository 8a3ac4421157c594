//! The header `WWW-Authenticate` of any server: what is read of it, written again, is the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::www_authenticate::Challenge;

fuzz_target!(|field: &str| {
    let challenges = Challenge::read_all([field]);
    let written: Vec<String> = (challenges.iter())
        .map(|challenge| {
            let parameters = challenge.parameters.iter().map(|(name, value)| {
                let value = value.replace('\\', "\\\\").replace('"', "\\\"");
                format!("{name}=\"{value}\"")
            });
            let parameters: Vec<String> = parameters.collect();
            format!("{} {}", challenge.scheme, parameters.join(", "))
        })
        .collect();
    // What is longer than a field may be is cut.
    if written.iter().map(|one| one.len() + 2).sum::<usize>() < 16_000 {
        assert_eq!(Challenge::read_all([written.join(", ").as_str()]), challenges);
    }
});
