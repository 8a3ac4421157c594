//! Answers of outside services and programs, served from loopback by their index: our own ([`cases`] of the services,
//! `fixtures/programs`), and recorded ones if a folder of them is next to the checkout.

pub mod cases;

use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::home::Home;
use super::run::Marvin;
use super::server::{Answer, Server};
use super::shared::shared;
use super::words::TextAssertions;

/// One answer of a service.
#[derive(Clone)]
pub struct Sample {
    /// Its file below its service: `search-none.json`.
    pub name: String,
    /// Request line, with whole address.
    pub request: String,
    /// What a correct tool does with it.
    pub expect: String,
    /// Texts that must be shown, from its index; empty if the index has none.
    pub says: Vec<String>,
    pub status: u16,
    /// Its body.
    pub bytes: Vec<u8>,
    headers: Vec<(String, String)>,
}

impl Sample {
    /// The answer as the service gives it.
    pub fn answer(&self) -> Answer {
        let start = Answer::status(self.status).send(self.body());
        self.headers
            .iter()
            .fold(start, |answer, (name, value)| answer.header(name, value))
    }

    /// The body as it goes over the wire: samples are stored unpacked.
    fn body(&self) -> Vec<u8> {
        let packed = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("content-encoding") && value == "gzip"
        };
        if !self.headers.iter().any(packed) {
            return self.bytes.clone();
        }
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(&self.bytes).expect("memory");
        packer.finish().expect("memory")
    }

    /// A server that gives this answer to every request.
    pub fn server(&self) -> Server {
        let own = self.clone();
        Server::always(own.answer()).lenient()
    }
}

impl Sample {
    /// Fails unless `text` shows what its index wants, or `recorded` where the index does not say.
    #[track_caller]
    pub fn assert_shown_in(&self, text: &str, recorded: &[&str]) {
        let own: Vec<&str> = self.says.iter().map(String::as_str).collect();
        text.assert_has(if own.is_empty() { recorded } else { &own });
    }
}

/// Programs for which `fixtures/programs` has samples.
pub const PROGRAMS: [&str; 4] = ["blender", "geoclue", "lynx", "webdriver"];

/// Our own samples of a program; `None` for a service, whose [`cases`] need no test of their own.
fn own_samples(program: &str) -> Option<Vec<Sample>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/programs");
    if !PROGRAMS.contains(&program) {
        return None;
    }
    let own: Vec<Sample> = rows(&dir.join(program).join("index.json"))
        .iter()
        .map(|row| sample(&dir, program, row))
        .collect();
    for entry in fs::read_dir(dir.join(program)).expect("a folder of samples") {
        let name = entry.expect("an entry of a folder").file_name();
        assert!(
            name == "index.json" || own.iter().any(|sample| *sample.name == *name),
            "no row of the index names {program}/{}",
            name.display()
        );
    }
    Some(own)
}

/// The samples of a program or service, a list for each place that has them: our own, then those beside the checkout.
pub fn sample_sets(test: &str, service: &str) -> Vec<Vec<Sample>> {
    let own = own_samples(service);
    let recorded = samples(&format!("{test}: recordings of {service}"), service);
    own.into_iter().chain(recorded).collect()
}

/// The rows of the recordings next to the checkout, each with its `service` and `file`.
pub fn recordings(dir: &Path) -> impl Iterator<Item = Value> {
    ["INDEX-a.json", "INDEX-b.json"]
        .into_iter()
        .flat_map(move |index| rows(&dir.join("services").join(index)))
}

/// The samples of `service` next to the checkout; `None`, with a message, if there are none.
pub fn samples(test: &str, service: &str) -> Option<Vec<Sample>> {
    let dir = shared(test)?;
    let found: Vec<Sample> = recordings(&dir)
        .filter(|row| row["service"] == service)
        .map(|row| sample(&dir.join("services"), service, &row))
        .collect();
    assert!(!found.is_empty(), "no sample of {service}");
    Some(found)
}

/// The recording in this file, which must be there.
fn recorded(file: &str) -> Sample {
    let dir = shared(file).expect("recordings beside the checkout");
    let row = recordings(&dir).find(|row| row["file"] == file);
    let row = row.unwrap_or_else(|| panic!("no recording is called {file}"));
    sample(&dir.join("services"), "", &row)
}

/// A sample's file and its check.
pub type Check<'a> = (&'a str, &'a dyn Fn(&Sample));

/// Runs the check of each sample of `service`, wherever it is; fails for a sample without a check, and for a check without its sample.
pub fn each(test: &str, service: &str, checks: &[Check<'_>]) {
    for samples in sample_sets(test, service) {
        check_all(&samples, service, checks);
    }
}

fn check_all(samples: &[Sample], service: &str, checks: &[Check<'_>]) {
    for (name, _) in checks {
        assert!(
            samples.iter().any(|sample| sample.name == *name),
            "there is no sample {service}/{name}"
        );
    }
    for sample in samples {
        let check = checks.iter().find(|(name, _)| *name == sample.name);
        let (_, check) = check.unwrap_or_else(|| {
            panic!(
                "nothing checks {service}/{}: {}",
                sample.name, sample.expect
            )
        });
        eprintln!("{service}/{}: {}", sample.name, sample.expect);
        check(sample);
    }
}

/// Marvin running one tool directly, with a contact; the named services are at `url`.
pub fn tool(home: &Home, services: &[&str], url: &str, name: &str, args: &Value) -> Marvin {
    let marvin = home
        .tool(name, args)
        .env("MARVIN_CONTACT", "tests@example.org");
    services.iter().fold(marvin, |marvin, id| {
        marvin.env(
            &format!("MARVIN_URL_{}", id.to_uppercase().replace('-', "_")),
            url,
        )
    })
}

fn rows(index: &Path) -> Vec<Value> {
    let text = fs::read_to_string(index).expect("an index of samples");
    let value: Value = serde_json::from_str(&text).expect("an index in JSON");
    value.as_array().expect("a list of samples").clone()
}

fn sample(dir: &Path, service: &str, row: &Value) -> Sample {
    let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let file = word("file");
    let mut headers = vec![("Content-Type".to_owned(), word("content_type"))];
    for (name, value) in row["response_headers"]
        .as_object()
        .unwrap_or(&json!({}).as_object().cloned().unwrap_or_default())
    {
        headers.push((
            name.clone(),
            value.as_str().map_or(value.to_string(), str::to_owned),
        ));
    }
    Sample {
        name: file.trim_start_matches(&format!("{service}/")).to_owned(),
        request: word("request"),
        expect: word("expect"),
        says: row["says"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|text| Some(text.as_str()?.to_owned()))
            .collect(),
        status: row["status"]
            .as_u64()
            .and_then(|status| u16::try_from(status).ok())
            .unwrap_or(200),
        bytes: fs::read(dir.join(&file)).unwrap_or_else(|reason| panic!("{file}: {reason}")),
        headers,
    }
}
