//! The travel tools against OSRM's own server over a small town: `MARVIN_OSRM="$(scripts/osrm.sh)" cargo test --test suite osrm::`.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::shared::skip;
use crate::support::wait::until;
use crate::support::words::TextAssertions;

/// One server with the data of one profile; ended when dropped.
struct Routed {
    child: Child,
    url: String,
}

impl Drop for Routed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Routed {
    fn start(dir: &Path, profile: &str) -> Self {
        let port = TcpListener::bind(("127.0.0.1", 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let child = Command::new(dir.join("osrm/bin/osrm-routed"))
            .args([
                "--algorithm",
                "mld",
                "-i",
                "127.0.0.1",
                "-t",
                "1",
                "-p",
                &port.to_string(),
            ])
            .arg(dir.join(profile).join("town.osrm"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("osrm-routed starts");
        let routed = Self {
            child,
            url: format!("http://127.0.0.1:{port}"),
        };
        until("osrm-routed listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        routed
    }
}

fn peer(test: &str) -> Option<PathBuf> {
    let dir = std::env::var_os("MARVIN_OSRM").map(PathBuf::from);
    let dir = dir.filter(|dir| dir.join("foot/ready").exists());
    if dir.is_none() {
        skip(
            test,
            "MARVIN_OSRM does not name the folder that scripts/osrm.sh makes",
        );
    }
    dir
}

/// Two places of the town, in thousandths of a degree from its corner: east, north.
fn trip(from: (f64, f64), to: (f64, f64), more: Value) -> Value {
    let mut args = json!({"origin_lat": 46.0 + from.1 / 1e3, "origin_lng": 8.0 + from.0 / 1e3,
        "dest_lat": 46.0 + to.1 / 1e3, "dest_lng": 8.0 + to.0 / 1e3});
    args.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    args
}

#[test]
fn a_real_server_is_understood() {
    let Some(dir) = peer("a_real_server_is_understood") else {
        return;
    };
    let [car, bike, foot] = ["car", "bicycle", "foot"].map(|profile| Routed::start(&dir, profile));
    let home = Home::new();
    let ask = |name: &str, args: &Value| -> Done {
        home.tool(name, args)
            .env("MARVIN_URL_OSRM_CAR", &car.url)
            .env("MARVIN_URL_OSRM_BIKE", &bike.url)
            .env("MARVIN_URL_OSRM_FOOT", &foot.url)
            .run()
    };
    let (corner, north, south) = ((0.0, 0.0), (12.0, 5.0), (12.0, -5.0));

    // Streets and a roundabout by car, the meadow on foot, the canal by bicycle.
    let steps = |args: &Value| {
        let text = ask("get_directions", args).expect(0).text().to_owned();
        let (head, rest) = text.split_once("\n\n").unwrap();
        let (steps, _) = rest.split_once("\n\n").unwrap();
        (head.to_owned(), steps.to_owned())
    };
    let (head, way) = steps(&trip(corner, north, json!({})));
    assert!(
        head.starts_with("Mode      driving\nDistance  1.7 km (1.1 mi)\nDuration  "),
        "{head}"
    );
    let lines: Vec<&str> = way
        .lines()
        .map(|line| line.split(" (").next().unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            "1. Head east on Main Street",
            "2. Enter the roundabout and take exit 3 onto North Road",
            "3. Leave the roundabout onto North Road",
            "4. Arrive at the destination",
        ]
    );
    let (head, way) = steps(&trip(corner, north, json!({"mode": "walking"})));
    assert!(
        head.starts_with("Mode      foot\nDistance  1.1 km"),
        "{head}"
    );
    assert!(
        way.starts_with("1. Head northeast on Meadow Path (1.1 km, 13 min)\n2. Arrive"),
        "{way}"
    );
    let (head, way) = steps(&trip(corner, south, json!({"mode": "cycling"})));
    assert!(head.starts_with("Mode      cycling\n"), "{head}");
    way.assert_has(&["\n2. Turn right onto Canal Cycleway ("]);

    // Stops, a motorway with its ramps, and a ferry.
    let (head, way) = steps(&trip(
        corner,
        (50.0, -22.0),
        json!({"waypoints": "46.005,8.012; 46.005,8.034"}),
    ));
    head.assert_has(&[
        "\nVia 1     46.005, 8.012 (North Road)\nVia 2     46.005, 8.034 (Far Street)",
    ]);
    way.assert_has(&[
        "\n 4. Reach waypoint 1\n 5. Head south on North Road (",
        "Turn right onto Cross Street (",
        ". Take the ramp straight ahead onto an unnamed road (",
        "Continue onto A 9 (",
        ". Take the exit on the right towards Farville (",
        ". Take the ferry on Lake Ferry (3 km, 20 min)\n",
        "\n17. Arrive at the destination",
    ]);
    assert_eq!(way.matches("Arrive").count(), 1, "{way}");

    // An island, a place far from every road, and swapped coordinates.
    for (args, expected) in [
        (
            trip(corner, (62.0, 60.0), json!({})),
            "There is no way by car between these points",
        ),
        (
            json!({"origin_lat": 8, "origin_lng": 46, "dest_lat": 8.005, "dest_lng": 46.012}),
            "from the nearest road that the server knows",
        ),
    ] {
        let output = ask("estimate_travel_time", &args).expect(1);
        assert!(output.errors().contains(expected), "{}", output.errors());
    }
    ask(
        "estimate_travel_time",
        &trip(corner, (12.0, 20.0), json!({})),
    )
    .expect(0)
    .stdout_has(&["Note: The destination is 1.7 km from the nearest road"]);

    // A car server that is configured for walking, and an invalid address.
    let on_foot = trip(corner, north, json!({"mode": "foot"}));
    home.tool("estimate_travel_time", &on_foot)
        .env("MARVIN_URL_OSRM_FOOT", &car.url)
        .prints(&["This is the way by car, not on foot"]);
    let by_car = trip(corner, north, json!({}));
    home.tool("estimate_travel_time", &by_car)
        .env("MARVIN_URL_OSRM_CAR", format!("{}/route/v1", car.url))
        .fails(&["MARVIN_URL_OSRM_CAR must be the address of an OSRM server, without /route/v1."]);
}
