//! Time zones of this machine: a name is looked up in the system's zone files, which its package manager keeps up to date, and in the database inside the
//! program only where the system has none. The two differ whenever a government changes its clocks.
//!
//! A lookup reads the one file of that name. The database that jiff opens by itself lists all of the system's names first, which costs every start more than a
//! millisecond.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Zoned;
use jiff::civil::DateTime;
use jiff::fmt::temporal::{Pieces, TimeZoneAnnotationKind};
use jiff::tz::{Offset, OffsetConflict, TimeZone};

/// Where systems keep their zone files (tzset(3) and the tz database's own default).
const FOLDERS: [&str; 3] = [
    "/usr/share/zoneinfo",
    "/usr/share/lib/zoneinfo",
    "/etc/zoneinfo",
];
/// The zone of the machine: a link to a zone file, or a copy of one.
const LOCALTIME: &str = "/etc/localtime";

/// The zone files of this machine.
#[derive(Debug, Clone)]
pub struct ZoneFiles {
    folders: Vec<PathBuf>,
    localtime: PathBuf,
    tz: Option<String>,
}

impl Default for ZoneFiles {
    fn default() -> Self {
        Self::new(&super::env::Env::default())
    }
}

impl ZoneFiles {
    /// The zone folders named by the environment: `TZDIR` comes before the usual ones.
    pub fn new(env: &super::env::Env) -> Self {
        let named = env.get("TZDIR").map(PathBuf::from);
        Self {
            folders: named
                .into_iter()
                .chain(FOLDERS.map(PathBuf::from))
                .collect(),
            localtime: PathBuf::from(LOCALTIME),
            tz: env.get("TZ").map(str::to_owned),
        }
    }

    /// The zone of a name such as `Europe/Berlin`, in any case.
    pub fn find(&self, name: &str) -> Option<TimeZone> {
        if name.eq_ignore_ascii_case("UTC") {
            return Some(TimeZone::UTC);
        }
        self.file(name).or_else(|| {
            let bundled = TimeZone::get(name).ok()?;
            // File names of the system are case-sensitive.
            let spelled = bundled.iana_name().filter(|spelled| *spelled != name);
            spelled.and_then(|name| self.file(name)).or(Some(bundled))
        })
    }

    fn file(&self, name: &str) -> Option<TimeZone> {
        if !is_name(name) {
            return None;
        }
        let mut folders = self.folders.iter();
        folders.find_map(|folder| TimeZone::tzif(name, &fs::read(folder.join(name)).ok()?).ok())
    }

    /// The user's zone: that of `TZ`, else the machine's.
    pub fn local(&self) -> TimeZone {
        match &self.tz {
            // As in the C library, an invalid value means UTC.
            Some(tz) => self.tz(tz).unwrap_or(TimeZone::UTC),
            None => self.machine(),
        }
    }

    /// A value of `TZ`: a name, a path, or a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`.
    fn tz(&self, text: &str) -> Option<TimeZone> {
        let text = text.strip_prefix(':').unwrap_or(text);
        let path = Path::new(text);
        if path.is_absolute() {
            return self.at(path);
        }
        self.find(text).or_else(|| TimeZone::posix(text).ok())
    }

    /// The zone of the machine and its daemons, regardless of `TZ`.
    pub fn machine(&self) -> TimeZone {
        self.at(&self.localtime).unwrap_or(TimeZone::UTC)
    }

    /// The zone in a file, named after the path where possible.
    fn at(&self, path: &Path) -> Option<TimeZone> {
        let path = fs::canonicalize(path).ok()?;
        let name = path
            .to_str()
            .and_then(|path| path.rsplit_once("zoneinfo/"))
            .map(|(_, name)| name.strip_prefix("posix/").unwrap_or(name));
        name.and_then(|name| self.find(name))
            .or_else(|| TimeZone::tzif("Local", &fs::read(&path).ok()?).ok())
    }

    /// A time with its zone (RFC 9557, `2026-02-14T18:00:00+01:00[Europe/Berlin]`); `None` when the zone does not have that offset at that time.
    pub fn zoned(&self, text: &str) -> Option<Zoned> {
        let (wall, offset, zone) = self.parts(text)?;
        resolve(wall, offset, zone?, OffsetConflict::Reject)
    }

    /// The same for a time read from a file. If the zone's rules have changed since, the wall time wins; if the zone is unknown, the offset.
    pub fn stored(&self, text: &str) -> Option<Zoned> {
        let (wall, offset, zone) = self.parts(text)?;
        let zone = zone.or_else(|| offset.map(TimeZone::fixed))?;
        resolve(wall, offset, zone, OffsetConflict::PreferOffset)
    }

    /// Wall time, offset and zone; no zone if its name is unknown.
    fn parts(&self, text: &str) -> Option<(DateTime, Option<Offset>, Option<TimeZone>)> {
        let pieces = Pieces::parse(text).ok()?;
        let wall = DateTime::from_parts(pieces.date(), pieces.time()?);
        let zone = match pieces.time_zone_annotation()?.kind() {
            TimeZoneAnnotationKind::Named(name) => self.find(name.as_str()),
            TimeZoneAnnotationKind::Offset(offset) => Some(TimeZone::fixed(*offset)),
            _ => None,
        };
        Some((wall, pieces.to_numeric_offset(), zone))
    }
}

fn resolve(
    wall: DateTime,
    offset: Option<Offset>,
    zone: TimeZone,
    conflict: OffsetConflict,
) -> Option<Zoned> {
    match offset {
        Some(offset) => conflict.resolve(wall, offset, zone).ok()?.compatible().ok(),
        None => wall.to_zoned(zone).ok(),
    }
}

/// Whether a zone can have this name; excludes paths out of the folder. Zones below `right/` count leap seconds.
fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+' | b'/');
    name.len() < 64
        && !name.starts_with('/')
        && !name.starts_with("right/")
        && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;

    /// A zone file without transitions, `hours` ahead of UTC (RFC 9636, version 2).
    fn fixed(hours: i32) -> Vec<u8> {
        let block = |version: u8| {
            let mut out = b"TZif".to_vec();
            out.push(version);
            out.extend([0; 15]);
            for count in [0u32, 0, 0, 0, 1, 4] {
                out.extend(count.to_be_bytes());
            }
            out.extend((hours * 3_600).to_be_bytes());
            out.extend([0, 0]);
            out.extend(b"XYZ\0");
            out
        };
        [
            block(b'2'),
            block(b'2'),
            format!("\nXYZ{}\n", -hours).into_bytes(),
        ]
        .concat()
    }

    fn files(dir: &Path, tz: Option<&str>) -> ZoneFiles {
        let mut vars = vec![("TZDIR".into(), dir.as_os_str().to_owned())];
        vars.extend(tz.map(|tz| ("TZ".into(), tz.into())));
        ZoneFiles {
            localtime: dir.join("localtime"),
            ..ZoneFiles::new(&Env::new(vars))
        }
    }

    fn offset(zone: &TimeZone) -> i32 {
        let at: jiff::Timestamp = "2026-07-01T12:00:00Z".parse().unwrap();
        zone.to_offset(at).seconds() / 3_600
    }

    #[test]
    fn system_zone_files_beat_the_bundled_database() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("Africa")).unwrap();
        fs::write(dir.path().join("Africa/Casablanca"), fixed(7)).unwrap();
        fs::write(dir.path().join("Africa/Accra"), "no zone file").unwrap();
        let zones = files(dir.path(), None);
        for name in ["Africa/Casablanca", "africa/casablanca"] {
            let zone = zones.find(name).unwrap();
            assert_eq!(
                (offset(&zone), zone.iana_name()),
                (7, Some("Africa/Casablanca"))
            );
        }
        assert_eq!(offset(&zones.find("Africa/Accra").unwrap()), 0);
        let bare = ZoneFiles {
            folders: vec![dir.path().to_owned()],
            ..zones.clone()
        };
        assert_eq!(offset(&bare.find("Asia/Tokyo").unwrap()), 9);
        assert_eq!(zones.find("utc"), Some(TimeZone::UTC));
        for name in [
            "",
            "Mars/X",
            "../x",
            "/etc/localtime",
            "right/UTC",
            "Africa",
        ] {
            assert_eq!(zones.find(name), None, "{name}");
        }
    }

    #[test]
    fn the_users_zone_is_from_tz_or_the_machine() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("Here"), fixed(3)).unwrap();
        let local = |tz: &str| offset(&files(dir.path(), Some(tz)).local());
        let path = dir.path().join("Here").display().to_string();
        for (tz, hours) in [
            ("Here", 3),
            (":Here", 3),
            ("Asia/Tokyo", 9),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 2),
            ("XYZ-5", 5),
            (path.as_str(), 3),
            ("Nonsense", 0),
        ] {
            assert_eq!(local(tz), hours, "{tz}");
        }
        let machine = files(dir.path(), None);
        assert_eq!(offset(&machine.local()), 0, "there is none");
        fs::write(dir.path().join("localtime"), fixed(4)).unwrap();
        assert_eq!(offset(&machine.local()), 4, "a copy");
        fs::remove_file(dir.path().join("localtime")).unwrap();
        let folder = dir.path().join("zoneinfo/Asia");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("Tokyo"), fixed(1)).unwrap();
        std::os::unix::fs::symlink(folder.join("Tokyo"), dir.path().join("localtime")).unwrap();
        let zone = machine.local();
        assert_eq!(
            zone.iana_name(),
            Some("Asia/Tokyo"),
            "a link names the zone"
        );
        let elsewhere = files(dir.path(), Some("Asia/Tokyo")).machine();
        assert_eq!(elsewhere.iana_name(), zone.iana_name());
    }

    #[test]
    fn a_stored_time_survives_a_change_of_zone_rules() {
        let zones = ZoneFiles::default();
        let strict = |text| zones.zoned(text).map(|at| at.to_string());
        let stored = |text| zones.stored(text).map(|at| at.to_string());
        let right = "2026-07-01T18:00:00+02:00[Europe/Berlin]";
        assert_eq!(strict(right).as_deref(), Some(right));
        let wrong = "2026-07-01T18:00:00+05:00[Europe/Berlin]";
        assert_eq!(strict(wrong), None);
        assert_eq!(stored(wrong).as_deref(), Some(right));
        let second = "2026-10-25T02:30:00+01:00[Europe/Berlin]";
        assert_eq!(stored(second).as_deref(), Some(second));
        let unknown = zones.stored("2026-07-01T18:00:00+02:00[Local]");
        assert_eq!(unknown, zones.zoned(right), "the same moment");
        for text in [
            "",
            "2026-07-01",
            "18:00[Europe/Berlin]",
            "2026-07-01T18:00:00+02:00",
        ] {
            assert_eq!((strict(text), stored(text)), (None, None), "{text}");
        }
    }
}
