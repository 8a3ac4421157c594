//! The user's own browser, headless, by WebDriver (<https://www.w3.org/TR/webdriver2/>): found, started in its own process group and temporary
//! folder, behind a filtering proxy, and stopped on every exit path.

mod options;
mod process;
mod session;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) use process::Process;
pub(super) use session::{DriverError, WebDriverSession};

use crate::base::env::Env;
use crate::proc::program::find_program;

/// Time limits for loading a page and for a script.
#[derive(Debug, Clone, Copy)]
pub(super) struct DriverTimeouts {
    /// Until a page has loaded.
    pub(super) load: Duration,
    /// For Marvin's own script.
    pub(super) script: Duration,
}

/// A family of browsers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Firefox,
    Chromium,
}

#[derive(Debug, Clone)]
pub(super) struct DriverPair {
    pub(super) family: Family,
    pub(super) driver: PathBuf,
    pub(super) browser: PathBuf,
}

/// The installed pairs, the preferred one first.
pub(super) fn installed(env: &Env) -> Vec<DriverPair> {
    let known: [(Family, &str, &[&str]); 2] = [
        (Family::Firefox, "geckodriver", &["firefox", "firefox-esr"]),
        (
            Family::Chromium,
            "chromedriver",
            &[
                "chromium",
                "chromium-browser",
                "google-chrome",
                "google-chrome-stable",
            ],
        ),
    ];
    let pair = |(family, driver, browsers): &(Family, &str, &[&str])| {
        let browser = browsers.iter().find_map(|name| find_program(name, env))?;
        Some(DriverPair {
            family: *family,
            driver: find_program(driver, env)?,
            browser: unwrap_snap(browser),
        })
    };
    known.iter().filter_map(pair).collect()
}

/// The real browser of a snap: its launcher may access only its own folders.
fn unwrap_snap(browser: PathBuf) -> PathBuf {
    let snap = Path::new("/snap/firefox/current/usr/lib/firefox/firefox");
    let outer = browser.starts_with("/snap/bin")
        || browser
            .canonicalize()
            .is_ok_and(|real| real.ends_with("snap"));
    if outer && browser.ends_with("firefox") && snap.is_file() {
        return snap.to_owned();
    }
    browser
}
