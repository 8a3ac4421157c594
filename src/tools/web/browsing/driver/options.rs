//! Session options for the driver: headless, everything through the proxy, no downloads, no telemetry.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::{DriverPair, DriverTimeouts, Family};

/// The request body that opens a session.
pub(super) fn capabilities(
    pair: &DriverPair,
    gateway: SocketAddr,
    timeouts: DriverTimeouts,
) -> Value {
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let mut wanted = json!({
        "acceptInsecureCerts": false,
        "pageLoadStrategy": "normal",
        "unhandledPromptBehavior": "dismiss",
        "timeouts": {"pageLoad": millis(timeouts.load), "script": millis(timeouts.script), "implicit": 0},
    });
    let binary = pair.browser.to_string_lossy();
    let own = match pair.family {
        Family::Firefox => json!({
            "browserName": "firefox",
            "proxy": {"proxyType": "manual", "httpProxy": gateway.to_string(), "sslProxy": gateway.to_string(), "noProxy": []},
            "moz:firefoxOptions": {"binary": binary, "args": ["-headless"], "prefs": preferences()},
        }),
        Family::Chromium => json!({
            "browserName": "chrome",
            "goog:chromeOptions": {
                "binary": binary,
                "args": arguments(gateway),
                "prefs": {
                    "download_restrictions": 3,
                    "profile.default_content_setting_values.automatic_downloads": 2,
                    "profile.default_content_setting_values.notifications": 2,
                    "profile.default_content_setting_values.geolocation": 2,
                },
            },
        }),
    };
    if let (Some(wanted), Value::Object(own)) = (wanted.as_object_mut(), own) {
        wanted.extend(own);
    }
    json!({"capabilities": {"alwaysMatch": wanted}})
}

fn arguments(gateway: SocketAddr) -> Vec<String> {
    let mut words: Vec<String> = [
        "--headless=new",
        "--disable-gpu",
        "--disable-breakpad",
        "--disable-dev-shm-usage",
        "--disable-extensions",
        "--disable-sync",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-domain-reliability",
        "--disable-client-side-phishing-detection",
        "--disable-quic",
        "--disable-features=HttpsUpgrades,OptimizationHints,MediaRouter,Translate,DnsOverHttpsUpgrade",
        "--no-first-run",
        "--no-default-browser-check",
        "--no-pings",
        "--mute-audio",
        "--password-store=basic",
        "--blink-settings=imagesEnabled=false",
        // Nothing bypasses the proxy: neither loopback, nor local DNS, nor WebRTC datagrams.
        "--proxy-bypass-list=<-loopback>",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    ]
    .map(str::to_owned)
    .to_vec();
    words.push(format!("--proxy-server=http://{gateway}"));
    // Chromium's sandbox does not work for root, which is what containers run as.
    if rustix::process::geteuid().is_root() {
        words.push("--no-sandbox".to_owned());
    }
    words
}

fn preferences() -> Value {
    json!({
        // Nothing bypasses the proxy.
        "network.proxy.allow_hijacking_localhost": true,
        "network.proxy.failover_direct": false,
        "network.proxy.no_proxies_on": "",
        "network.dns.disablePrefetch": true,
        "network.http.http3.enable": false,
        "network.prefetch-next": false,
        "network.predictor.enabled": false,
        "network.trr.mode": 5,
        "media.peerconnection.enabled": false,
        "network.captive-portal-service.enabled": false,
        "network.connectivity-service.enabled": false,
        "network.protocol-handler.external-default": false,
        // Nothing is saved, displayed or prompted for.
        "permissions.default.image": 2,
        "permissions.default.geo": 2,
        "permissions.default.desktop-notification": 2,
        "browser.download.useDownloadDir": true,
        "browser.download.forbid_open_with": true,
        "pdfjs.disabled": true,
        "dom.security.https_only_mode": false,
        "app.update.auto": false,
        "browser.safebrowsing.malware.enabled": false,
        "browser.safebrowsing.phishing.enabled": false,
        "browser.safebrowsing.downloads.enabled": false,
        "datareporting.healthreport.uploadEnabled": false,
        "datareporting.policy.dataSubmissionEnabled": false,
        "toolkit.telemetry.enabled": false,
        "extensions.update.enabled": false,
        "services.settings.server": "data:,",
    })
}
