//! The device's own location from GeoClue, through its demo program `where-am-i`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::env::Env;
use crate::base::problem::Outcome;
use crate::proc::child::ProgramSpec;
use crate::proc::child_env;
use crate::proc::program::find_program;
use crate::tools::engine::context::ToolContext;
use crate::tools::geo::point::Coordinates;
use crate::tools::output::found::short_line;

const PROGRAM: &str = "where-am-i";
/// Where distributions install it; these folders are not on the search path.
const FOLDERS: [&str; 4] = [
    "/usr/libexec/geoclue-2.0/demos",
    "/usr/lib/geoclue-2.0/demos",
    "/usr/local/libexec/geoclue-2.0/demos",
    "/usr/lib64/geoclue-2.0/demos",
];
/// How long the program listens in seconds; it always takes this long.
const LISTEN: &str = "3";
const RUN_TIMEOUT: Duration = Duration::from_secs(5);
/// With this accuracy in metres or worse, GeoClue itself has used the IP address.
const COARSE: f64 = 10_000.0;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct DeviceLocation {
    pub(super) point: Coordinates,
    /// In metres.
    pub(super) accuracy: Option<f64>,
    /// The method as GeoClue calls it: WiFi, GeoIP.
    pub(super) method: Option<String>,
}

impl DeviceLocation {
    /// Whether it is no better than a lookup of the IP address.
    pub(super) fn is_coarse(&self) -> bool {
        self.accuracy.is_some_and(|metres| metres > COARSE)
    }
}

/// The device's location; `None` when it is unknown, not permitted, or GeoClue is missing.
///
/// # Errors
/// `Cancelled`.
pub(super) fn fix(ctx: &ToolContext) -> Outcome<Option<DeviceLocation>> {
    let env = &ctx.session.env;
    let Some(program) = program(env) else {
        return Ok(None);
    };
    ctx.progress("asking the device");
    let mut vars = child_env::command_env(env);
    vars.retain(|(name, _)| name != "LC_ALL");
    // A decimal comma would be ambiguous in the output.
    vars.push(("LC_ALL".into(), "C".into()));
    if let Some(bus) = env.get("DBUS_SYSTEM_BUS_ADDRESS") {
        vars.push(("DBUS_SYSTEM_BUS_ADDRESS".into(), bus.to_owned()));
    }
    let args = ["-t", LISTEN, "-a", "8"].map(OsString::from);
    let mut run = ProgramSpec::new(program, args, vars);
    run.limit = RUN_TIMEOUT;
    run.grace = Duration::from_millis(100);
    let Ok(done) = run.run(&ctx.stop) else {
        ctx.stop.check()?;
        return Ok(None);
    };
    let done = done.unless_cancelled()?;
    // Output before the timeout counts; output of a failed program does not.
    let complete = done.success() || done.timed_out;
    Ok(read(&done.stdout.text()).filter(|_| complete))
}

fn program(env: &Env) -> Option<PathBuf> {
    let installed = || {
        let files = FOLDERS.iter().map(|dir| Path::new(dir).join(PROGRAM));
        files.into_iter().find(|file| file.is_file())
    };
    find_program(PROGRAM, env).or_else(installed)
}

/// The most accurate fix in the output, or the last of several; each starts with `New location:`.
fn read(text: &str) -> Option<DeviceLocation> {
    let fixes = text.split("New location:").skip(1).filter_map(block);
    let invalid = |fix: &DeviceLocation| fix.accuracy.unwrap_or(f64::MAX);
    fixes.reduce(|best, next| match invalid(&next) <= invalid(&best) {
        true => next,
        false => best,
    })
}

fn block(text: &str) -> Option<DeviceLocation> {
    let value = |wanted: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(key, _)| key.trim() == wanted);
        found.map(|(_, value)| value.trim())
    };
    let number = |wanted: &str| {
        let text = value(wanted)?;
        let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.,eE".contains(c)));
        let digits = text.get(..end.unwrap_or(text.len()))?.replace(',', ".");
        digits
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
    };
    Some(DeviceLocation {
        // Zero and zero means an unknown position.
        point: Coordinates::found(number("Latitude")?, number("Longitude")?)
            .filter(|point| point.lat != 0.0 || point.lon != 0.0)?,
        accuracy: number("Accuracy").filter(|metres| *metres > 0.0),
        method: value("Description")
            .filter(|how| !how.is_empty())
            .map(short_line),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_whole_fix_counts() {
        let text = "Client object: /x/1\n\nNew location:\nLatitude:    1.500000°\nLongitude:   -2.000000°\nAccuracy:    90000.000000 meters\n\
            Description: GeoIP\n\nNew location:\nLatitude:    0.000000°\nLongitude:   -4,25°\nAccuracy:    31.500000 meters\nAltitude: 38 meters\n\
            \nNew location:\nLatitude:    48.3";
        let fix = read(text).unwrap();
        assert_eq!(fix.point.to_string(), "0, -4.25");
        assert_eq!((fix.accuracy, fix.method.clone()), (Some(31.5), None));
        assert!(!fix.is_coarse());
        for nothing in [
            "",
            "Client object: /x/1\n",
            "New location:\nLatitude: 91°\nLongitude: 0°\n",
            "New location:\nLatitude: x°\nLongitude: 0°",
        ] {
            assert_eq!(read(nothing), None, "{nothing}");
        }
        let coarse = "New location:\nLatitude: 1°\nLongitude: 2°\nAccuracy: 25000.0 meters\nDescription: GeoIP\n";
        let fix = read(coarse).unwrap();
        assert!(fix.is_coarse() && fix.method.as_deref() == Some("GeoIP"));
    }

    proptest! {
        #[test]
        fn a_fix_is_read_as_it_was_written(lat in -90f64..=90.0, lon in -180f64..=180.0, accuracy in 1f64..1e6) {
            let text = format!("New location:\nLatitude:    {lat:.6}°\nLongitude:   {lon:.6}°\nAccuracy:    {accuracy:.6} meters\n");
            let fix = read(&text).unwrap();
            prop_assert!((fix.point.lat - lat).abs() < 1e-6 && (fix.point.lon - lon).abs() < 1e-6);
            prop_assert!((fix.accuracy.unwrap() - accuracy).abs() < 1e-3);
        }

        #[test]
        fn whatever_a_program_says_is_a_place_or_nothing(text in "(New location:|Latitude:|Longitude:|Accuracy:|[-0-9.,°e]{0,6}|\n|.){0,40}") {
            if let Some(fix) = read(&text) {
                prop_assert!(Coordinates::found(fix.point.lat, fix.point.lon).is_some());
            }
        }
    }
}
