//! What Marvin finds around it: an empty home, services that answer from `fixtures/services`, a table of scheduled jobs in a file, and nothing else. No
//! question reaches anybody outside, and nothing runs that wants an approval, as standard input is a pipe.

use std::fs;
use std::path::{Path, PathBuf};

use marvin::testing::services::{SERVICES, variable};
use serde_json::Value;

use super::support::home::Home;
use super::support::run::Marvin;
use super::support::server::{Answer, Request, Server};

/// A `crontab` that keeps its table in the home.
const CRONTAB: &str = "#!/bin/sh
table=\"$HOME/crontab.txt\"
case \"$1\" in
-l) [ -f \"$table\" ] && /bin/cat \"$table\" || exit 1 ;;
-) /bin/cat >\"$table\" ;;
*) /bin/cat \"$1\" >\"$table\" ;;
esac
";

/// A port that nothing listens on: the only way to the world.
const NOWHERE: &str = "http://127.0.0.1:9";

pub(crate) struct World {
    pub home: Home,
    services: Server,
}

impl World {
    pub(crate) fn new<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Self {
        let home = Home::new();
        home.program("bin/crontab", CRONTAB);
        for (path, text) in files {
            home.write(path, text);
        }
        Self {
            home,
            services: Server::answering(|request, _| service_answer(request)).lenient(),
        }
    }

    /// Marvin in this world, in a conversation of plain lines.
    pub(crate) fn marvin(&self) -> Marvin {
        let mut marvin = self
            .home
            .marvin()
            .env("PATH", self.home.path().join("bin"))
            .env("HTTP_PROXY", NOWHERE)
            .env("HTTPS_PROXY", NOWHERE)
            .env("NO_PROXY", "127.0.0.1")
            .env("MARVIN_REPLY_FLOW", "on")
            .env("MARVIN_REPLY_LOCATION", "Oban")
            .arg("--plain")
            .stdin_open();
        for service in SERVICES {
            let base = self.services.url(&format!("/{}", service.id));
            marvin = marvin.env(&variable(service.id), base);
        }
        marvin
    }
}

/// The good answer of a service whose path is most like the one that is asked for.
fn service_answer(request: &Request) -> Answer {
    let (service, path) = request.path[1..].split_once('/').unwrap_or_default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/services")
        .join(service);
    let index = fs::read_to_string(folder.join("index.json")).unwrap_or_default();
    let index: Value = serde_json::from_str(&index).unwrap_or_default();
    let good = index.as_array().into_iter().flatten();
    let answers = good
        .filter(|row| row["kind"] == "good")
        .flat_map(|row| row["answers"].as_array().into_iter().flatten());
    let wanted = format!("{} /{path}", request.method);
    let best = answers
        .filter(|answer| answer["file"].is_string())
        .max_by_key(|answer| {
            let asked = answer["request"].as_str().unwrap_or_default();
            let same = asked.bytes().zip(wanted.bytes());
            same.take_while(|(one, other)| one == other).count()
        });
    let Some(best) = best else {
        return Answer::status(404);
    };
    let file: PathBuf = folder.join(best["file"].as_str().unwrap_or_default());
    let media_type = best["type"].as_str().unwrap_or("application/json");
    match fs::read(file) {
        Ok(body) => Answer::text(media_type, body),
        Err(_) => Answer::status(404),
    }
}
