//! Module `location`: the device's position, services that locate IP addresses, and the set-up of Google's program.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use std::sync::Arc;

use marvin::testing::tools::{self, SessionContext, ToolContext, ToolPolicy};
use marvin::testing::{Cancel, Env, NullSink, ToolCall};
use serde_json::json;

use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::samples::{Sample, sample_sets, tool};
use crate::support::server::{Answer, Server};
use crate::support::shared::skip;
use crate::support::wait::side_by_side;
use crate::support::words::TextAssertions;

const PROVIDERS: [&str; 3] = ["ip-api", "ipapi-co", "ipinfo"];
const ASK: &str = "Ask the user for a city or coordinates.";

/// A script called `name` on the home's search path, which contains nothing else.
pub(super) fn script(home: &Home, name: &str, text: &str) {
    home.program(&format!("bin/{name}"), format!("#!/bin/sh\n{text}\n"));
}

/// `get_my_location` with nothing installed but a device without a location, and the three services at `url`.
fn here(home: &Home, url: &str) -> Marvin {
    if !home.has("bin/where-am-i") {
        script(home, "where-am-i", "exit 255");
    }
    tool(home, &PROVIDERS, url, "get_my_location", &json!({})).env("PATH", home.path().join("bin"))
}

/// The three services, distinguished by their paths.
fn provider(path: &str) -> &'static str {
    match path {
        path if path.starts_with("/json/?fields=status,message,") => "ip-api",
        "/json/" => "ipapi-co",
        "/json" => "ipinfo",
        path => panic!("{path}"),
    }
}

#[test]
fn the_first_service_with_a_result_is_used_and_named() {
    let server = Server::answering(|request, _| match provider(&request.path) {
        "ip-api" => Answer::json(
            &json!({"status": "success", "lat": 0, "lon": -4.5, "city": "Sao", "regionName": "North",
            "country": "Land", "timezone": "Africa/Accra", "query": "203.0.113.9", "more": null}),
        ),
        _ => panic!("asked too many"),
    });
    let output = here(&Home::new(), &server.url("")).run().expect(0);
    assert_eq!(
        output.text(),
        "Latitude: 0\nLongitude: -4.5\nPlace: Sao, North, Land\nTime zone: Africa/Accra\n\
         Source: ip (ip-api.com). Approximate, from the IP address: behind a VPN or proxy it is where that ends.\n"
    );
    output.stdout_lacks(&["203.0.113.9"]);
}

#[test]
fn a_service_that_fails_is_followed_by_the_next() {
    side_by_side(
        [
            Answer::json(&json!({"status": "fail", "message": "reserved range"})),
            Answer::json(&json!({})),
            Answer::json(&json!({"status": "success", "lat": 0, "lon": 0})),
            Answer::json(&json!({"status": "success", "lat": 1, "lon": 181})),
            Answer::status(429)
                .header("X-Rl", "0")
                .header("X-Ttl", "30"),
            Answer::status(503).header("Retry-After", "0"),
            Answer::text("text/html", "<html><h1>Sign in to this network</h1>"),
            Answer::text("application/json", "[".repeat(10_000)),
            Answer::status(200).close(),
        ],
        |first| {
            let server = Server::answering(move |request, _| match provider(&request.path) {
                "ip-api" => first.clone(),
                "ipapi-co" => Answer::json(&json!({"error": true, "reason": "RateLimited"})),
                _ => Answer::json(&json!({"loc": "48.39,-4.49", "city": "Brest", "country": "FR"})),
            });
            let output = here(&Home::new(), &server.url("")).run().expect(0);
            assert_eq!(
                output.text(),
                "Latitude: 48.39\nLongitude: -4.49\nPlace: Brest, FR\n\
             Source: ip (ipinfo.io). Approximate, from the IP address: behind a VPN or proxy it is where that ends.\n"
            );
            assert_eq!(server.requests().len(), 3, "nobody is asked twice");
        },
    );
}

#[test]
fn without_a_location_the_user_is_asked() {
    let server = Server::always(Answer::json(&json!({"bogon": true, "loc": "1,2"})));
    let output = here(&Home::new(), &server.url("")).run().expect(1);
    let text = output.errors();
    text.assert_has(&[
        ASK,
        "ip-api.com does not know",
        "ipinfo.io does not know: the address is a private one.",
    ]);
}

#[test]
fn a_service_that_never_answers_does_not_hold_up_the_others() {
    let server = Server::answering(|request, _| match provider(&request.path) {
        "ip-api" => Answer::silence(),
        _ => Answer::json(&json!({"latitude": 1, "longitude": 2, "country_name": "Land"})),
    });
    let output = here(&Home::new(), &server.url("")).run().expect(0);
    output.stdout_has(&["ipapi.co"]);
    assert!(
        output.took() < Duration::from_secs(20),
        "{:?}",
        output.took()
    );
}

#[test]
fn a_session_asks_once_and_respects_rate_limits() {
    let place = json!({"latitude": 1, "longitude": 2});
    let server = Server::answering(move |request, n| match provider(&request.path) {
        "ip-api" => Answer::json(&json!({"status": "fail", "message": "no"}))
            .header("X-Rl", "0")
            .header("X-Ttl", "60"),
        "ipapi-co" if n > 2 => Answer::json(&place),
        _ => Answer::status(500),
    });
    let home = Home::new();
    script(&home, "where-am-i", "exit 255");
    let url = server.url("");
    let path = home.path().join("bin");
    let env = Env::from([
        ("HOME", home.path().to_str().unwrap()),
        ("MARVIN_CONFIG_DIR", home.config().to_str().unwrap()),
        ("PATH", path.to_str().unwrap()),
        ("MARVIN_URL_IP_API", &url),
        ("MARVIN_URL_IPAPI_CO", &url),
        ("MARVIN_URL_IPINFO", &url),
    ]);
    let session = Arc::new(SessionContext::new(env, ToolPolicy::default()));
    let ctx = ToolContext::new(session, Cancel::new(), Arc::new(NullSink));
    let call = ToolCall::new("1", "get_my_location", "{}");
    let ask = || tools::run_one(&ctx, &call).output;
    let paths = || {
        server
            .requests()
            .iter()
            .map(|request| provider(&request.path))
            .collect::<Vec<_>>()
    };
    assert!(ask().failed);
    assert_eq!(paths(), ["ip-api", "ipapi-co", "ipinfo"]);
    let first = ask();
    assert!(
        !first.failed && first.text.contains("Source: ip (ipapi.co)"),
        "{}",
        first.text
    );
    assert_eq!(ask().text, first.text);
    assert_eq!(paths(), ["ip-api", "ipapi-co", "ipinfo", "ipapi-co"]);
}

#[test]
fn the_device_location_comes_first() {
    let nobody = Server::start();
    let home = Home::new();
    let says = |home: &Home, text: &str| {
        let text = text.replace('\'', "");
        script(
            home,
            "where-am-i",
            &format!(
                "[ \"$LC_ALL\" = C ] || exit 9\n[ \"$*\" = \"-t 3 -a 8\" ] || exit 8\nprintf '{text}'"
            ),
        );
        here(home, &nobody.url(""))
            .run()
            .expect(0)
            .text()
            .to_owned()
    };
    let fine = says(
        &home,
        "Client object: /x\\n\\nNew location:\\nLatitude:    0.000000°\\nLongitude:   -4.480222°\\nAccuracy:    31.500000 meters\\nDescription: WiFi\\n",
    );
    assert_eq!(
        fine,
        "Latitude: 0\nLongitude: -4.480222\nAccuracy: about 32 m\nSource: device (GeoClue, WiFi)\n"
    );
    home.write(
        "config/profiles/main/preferences.yaml",
        "distance_unit: mi\n",
    );
    let coarse = says(
        &home,
        "New location:\\nLatitude:    48.390394°\\nLongitude:   -4.486076°\\nAccuracy:    25000.000000 meters\\n",
    );
    assert_eq!(
        coarse,
        "Latitude: 48.390394\nLongitude: -4.486076\nAccuracy: about 15.5 mi\nSource: device (GeoClue). \
         So coarse a fix is from the IP address: approximate, and behind a VPN or proxy it is where that ends.\n"
    );
}

#[test]
fn a_hanging_or_failing_device_falls_back_to_the_address() {
    let found = json!({"status": "success", "lat": 1, "lon": 2});
    let server = Server::always(Answer::json(&found));
    side_by_side(
        [
            ("exit 0", 3),
            ("echo 'New location:'; exit 255", 3),
            ("/bin/sleep 60 & wait", 8),
        ],
        |(text, max)| {
            let home = Home::new();
            script(&home, "where-am-i", text);
            let output = here(&home, &server.url("")).run().expect(0);
            output.text().assert_has_for(&text, &["Source: ip"]);
            assert!(
                output.took() < Duration::from_secs(max),
                "{text}: {:?}",
                output.took()
            );
        },
    );
}

#[test]
fn device_output_gives_the_expected_results() {
    let found = json!({"status": "success", "lat": 1, "lon": 2});
    let server = Server::always(Answer::json(&found));
    let run = |sample: &Sample| {
        let home = Home::new();
        let output = home.write("said.txt", &sample.bytes);
        let to = if sample.status == 0 { "" } else { " >&2" };
        let text = format!(
            "/bin/cat '{}'{to}\nexit {}",
            output.display(),
            sample.status
        );
        script(&home, "where-am-i", &text);
        here(&home, &server.url(""))
            .run()
            .expect(0)
            .text()
            .to_owned()
    };
    let test = "words_of_the_device_give_what_they_should";
    for sample in sample_sets(test, "geoclue").iter().flatten() {
        match sample.name.as_str() {
            "where-am-i.txt" => sample.assert_shown_in(&run(sample), &["Latitude: 48.390394\nLongitude: -4.486076\nAccuracy: about 25 km\nSource: device (GeoClue, GeoIP). So coarse"]),
            "where-am-i-nofix.txt" | "where-am-i-denied.txt" | "where-am-i-noservice.txt" => {
                run(sample).assert_has(&["Source: ip (ip-api.com)"]);
            }
            // Marvin does not run gdbus.
            name => assert!(name.starts_with("gdbus-"), "nothing checks {name}"),
        }
    }
}

/// Child processes that end with the test.
struct Ends(Vec<Child>);

impl Drop for Ends {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn the_real_demo_program_responds_on_a_private_bus() {
    let name = "the_real_demo_program_is_heard_on_a_private_bus";
    let demo = "/usr/libexec/geoclue-2.0/demos/where-am-i";
    let python = "/usr/bin/python3";
    let can = Command::new(python)
        .args(["-c", "import dbus, gi"])
        .stderr(Stdio::null())
        .status();
    if !Path::new(demo).exists()
        || !Path::new("/usr/bin/dbus-daemon").exists()
        || !can.is_ok_and(|status| status.success())
    {
        return skip(
            name,
            "geoclue-2-demo, dbus and python3-dbus are not all installed",
        );
    }
    let found = json!({"status": "success", "lat": 1, "lon": 2});
    let server = Server::always(Answer::json(&found));
    let home = Home::new();
    let address = format!("unix:path={}", home.path().join("bus").display());
    let line = |command: &mut Command| {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(!line.is_empty());
        child
    };
    let _bus = Ends(vec![line(Command::new("/usr/bin/dbus-daemon").args([
        "--session",
        "--nofork",
        "--print-address",
        "--address",
        &address,
    ]))]);
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/geoclue/service.py");
    for (mode, expected) in [
        (
            ["fix", "48.391111", "-4.480222", "31.5"].as_slice(),
            "Latitude: 48.391111\nLongitude: -4.480222\nAccuracy: about 32 m\nSource: device (GeoClue, WiFi)\n",
        ),
        (&["refuse"], "Source: ip (ip-api.com)"),
        (&[], "Source: ip (ip-api.com)"),
    ] {
        let _service = (!mode.is_empty()).then(|| {
            Ends(vec![line(
                Command::new(python).arg(fixture).arg(&address).args(mode),
            )])
        });
        // Not on the search path: the program is found where the package installs it.
        let output = tool(
            &home,
            &PROVIDERS,
            &server.url(""),
            "get_my_location",
            &json!({}),
        )
        .env("PATH", home.path().join("empty"))
        .env("DBUS_SYSTEM_BUS_ADDRESS", &address)
        .run()
        .expect(0);
        output.text().assert_has_for(&mode, &[expected]);
        assert!(
            output.took() < Duration::from_secs(20),
            "{:?}",
            output.took()
        );
    }
}

/// A script in place of gcloud that records its calls and answers with the `cases` of a shell `case` on its arguments.
pub(super) fn gcloud(home: &Home, cases: &str) {
    let log = home.path().join("gcloud.log");
    let text = format!(
        "echo \"$*\" >> '{}'\n[ \"$CLOUDSDK_CORE_DISABLE_PROMPTS\" = 1 ] || exit 7\ncase \"$*\" in\n{cases}\n*) echo \"ERROR: no such case: $*\" >&2; exit 1;;\nesac",
        log.display()
    );
    script(home, "gcloud", &text);
}

fn set_up(home: &Home) -> Marvin {
    tool(home, &[], "", "setup_google_auth", &json!({})).env("PATH", home.path().join("bin"))
}

const LIST: &str = "\"auth list --filter=status:ACTIVE --format=value(account)\")";
const GOOD: &str = "\"config get-value project\") echo my-project;;\n\"services enable \"*) ;;\n\"auth application-default set-quota-project my-project\") ;;";

#[test]
fn google_is_set_up_step_by_step() {
    let home = Home::new();
    gcloud(&home, &format!("{LIST} echo ann@example.org;;\n{GOOD}"));
    let output = set_up(&home).run().expect(0);
    assert_eq!(
        output.text(),
        "Signed in as ann@example.org.\nProject: my-project.\nAPI enabled: places-backend.googleapis.com.\n\
         API enabled: places.googleapis.com.\nQuota project: my-project.\nPlace searches ask Google from now on.\n"
    );
    home.read("gcloud.log").assert_lacks(&["login"]);
}

#[test]
fn a_sign_in_happens_when_nobody_is_signed_in() {
    let home = Home::new();
    let mark = home.path().join("in");
    gcloud(
        &home,
        &format!(
            "{LIST} [ -e '{0}' ] && echo bob@example.org; exit 0;;\n\"auth login --update-adc\") : > '{0}';;\n{GOOD}",
            mark.display()
        ),
    );
    set_up(&home)
        .run()
        .expect(0)
        .stdout_starts_with("Signed in as bob@example.org.\n");
}

#[test]
fn each_step_that_fails_says_what_to_run_by_hand() {
    let no =
        |what: &str| format!("echo 'WARNING: x' >&2; echo 'ERROR: (gcloud) {what}' >&2; exit 1;;");
    for (cases, parts) in [
        (
            format!(
                "{LIST} ;;\n\"auth login --update-adc\") {}",
                no("cannot read a code")
            ),
            vec![
                "The sign-in did not work: ERROR: (gcloud) cannot read a code.",
                "Run manually: gcloud auth login --update-adc",
            ],
        ),
        (
            format!(
                "{LIST} echo a@b.c;;\n\"config get-value project\") echo '(unset)' >&2;;\n\"projects list --format=value(projectId) --limit=10\") printf 'p-one\\np-two\\n';;"
            ),
            vec![
                "gcloud has no project set.",
                "gcloud config set project PROJECT_ID; yours are p-one, p-two",
                "Done before:",
                "Signed in as a@b.c.",
            ],
        ),
        (
            format!(
                "{LIST} echo a@b.c;;\n\"config get-value project\") echo p-one;;\n\"services enable \"*) {}",
                no("Permission denied")
            ),
            vec![
                "could not be enabled: ERROR: (gcloud) Permission denied.",
                "Run manually: gcloud services enable places-backend.googleapis.com",
                "Project: p-one.",
            ],
        ),
    ] {
        let home = Home::new();
        gcloud(&home, &cases);
        let output = set_up(&home).run().expect(1);
        for part in parts {
            output.errors().assert_has(&[part]);
        }
    }
    // A quota project that cannot be set is only a remark.
    let home = Home::new();
    let cases = format!(
        "{LIST} echo a@b.c;;\n\"auth application-default \"*) {}\n{GOOD}",
        no("no credentials")
    );
    gcloud(&home, &cases);
    set_up(&home).prints(&["Remark: ERROR: (gcloud) no credentials. If searches are refused, run manually: gcloud auth application-default set-quota-project my-project\n"]);
}

#[test]
fn without_gcloud_or_a_user_nothing_hangs() {
    let home = Home::new();
    home.write("bin/nothing", "");
    set_up(&home).fails(&["gcloud was not found", "GOOGLE_PLACES_API_KEY"]);

    // A model calls it without a user present: no browser is opened.
    gcloud(
        &home,
        &format!("{LIST} ;;\n\"auth login\"*) /bin/sleep 60;;"),
    );
    let output = home
        .marvin()
        .env("PATH", home.path().join("bin"))
        .line("--non-interactive --provider offline --prompt 'setup google auth'")
        .run();
    output.output().assert_has(&[
        "nobody is here who could sign in",
        "gcloud auth login --update-adc",
    ]);
    home.read("gcloud.log").assert_lacks(&["login"]);
}
