//! Answers of outside services and programs, served from loopback as their index tells: our own ([`cases`] of the services,
//! `fixtures/programs`), and recorded ones where they lie beside the checkout.

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

/// One answer of a service.
#[derive(Clone)]
pub struct Sample {
    /// Its file below its service: `search-none.json`.
    pub name: String,
    /// Request line, with whole address.
    pub request: String,
    /// What a right tool does with it, in words.
    pub expect: String,
    /// Its status.
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

    /// A server that gives this answer to whatever comes.
    pub fn server(&self) -> Server {
        let own = self.clone();
        Server::answering(move |_, _| own.answer()).lenient()
    }
}

/// The samples of `service`; nothing, and a word on it, where they do not lie beside the checkout.
pub fn samples(test: &str, service: &str) -> Option<Vec<Sample>> {
    let dir = shared(test)?.join("services");
    let rows = ["INDEX-a.json", "INDEX-b.json"]
        .iter()
        .flat_map(|index| rows(&dir.join(index)));
    let found: Vec<Sample> = rows
        .filter(|row| row["service"] == service)
        .map(|row| sample(&dir, service, &row))
        .collect();
    assert!(!found.is_empty(), "no sample of {service}");
    Some(found)
}

/// A sample's file and what must come of it.
pub type Check<'a> = (&'a str, &'a dyn Fn(&Sample));

/// Runs the check of each sample of `service`; fails for a sample without one, and for a check without its sample.
pub fn each(test: &str, service: &str, checks: &[Check<'_>]) {
    let Some(samples) = samples(test, service) else {
        return;
    };
    for (name, _) in checks {
        assert!(
            samples.iter().any(|sample| sample.name == *name),
            "there is no sample {service}/{name}"
        );
    }
    for sample in &samples {
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

/// Marvin running one tool by hand, with a contact; the services that are named are at `url`.
pub fn tool(home: &Home, services: &[&str], url: &str, name: &str, args: &Value) -> Marvin {
    let marvin = home
        .marvin()
        .args(["tool", name, "--json", &args.to_string()])
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
        status: row["status"]
            .as_u64()
            .and_then(|status| u16::try_from(status).ok())
            .unwrap_or(200),
        bytes: fs::read(dir.join(&file)).unwrap_or_else(|why| panic!("{file}: {why}")),
        headers,
    }
}
