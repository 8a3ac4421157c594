//! Screenshots of Blender: kept for the user alone, and nothing is left of those that fail.

use std::fs;
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::blender::{PICTURES, tool};
use crate::support::blender::{Peer, send, success};
use crate::support::home::Home;
use crate::support::words::{TextAssertions, error_text, success_text};

/// A picture of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

/// Everything in the folder of pictures but the pictures.
pub(crate) fn leftovers(home: &Home) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(home.path().join(PICTURES)) else {
        return Vec::new();
    };
    let entries = entries.map(|entry| entry.unwrap().path());
    entries
        .filter(|path| path.extension().is_none_or(|end| end != "png"))
        .collect()
}

/// Where Blender is to draw.
fn target(request: &Value) -> PathBuf {
    PathBuf::from(request["params"]["filepath"].as_str().unwrap())
}

#[test]
fn a_screenshot_is_kept_for_the_user_alone() {
    let home = Home::new();
    let peer = Peer::start(|request, stream| {
        let path = target(request);
        let folder = fs::metadata(path.parent().unwrap()).unwrap();
        assert_eq!(folder.permissions().mode() & 0o777, 0o700);
        fs::write(&path, PNG).unwrap();
        send(
            stream,
            success(&json!({"success": true, "width": 9, "height": 9, "filepath": path}))
                .as_bytes(),
        );
    });
    let take = || {
        let run = tool(&home, &peer, "blender_screenshot", &json!({"max_size": 64}));
        let text = success_text(
            run.env("MARVIN_NOW", "2026-01-31T12:00:00+00:00[UTC]")
                .run(),
            &[],
        );
        text.assert_has(&["1 x 1 pixels", "1 KB"]);
        let path = text.trim_end().split("The picture is ").nth(1).unwrap();
        PathBuf::from(path)
    };
    let (one, two) = (take(), take());
    assert_ne!(one, two);
    for path in [one, two] {
        assert!(
            path.starts_with(home.path().join(PICTURES)),
            "{}",
            path.display()
        );
        assert_eq!(fs::read(&path).unwrap(), PNG);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    assert_eq!(leftovers(&home), Vec::<PathBuf>::new());
    let params = &peer.requests()[0]["params"];
    assert_eq!(
        (&params["max_size"], &params["format"]),
        (&json!(64), &json!("png"))
    );
}

#[test]
fn a_screenshot_that_fails_leaves_nothing_behind() {
    type Draw = fn(&Value, &mut TcpStream);
    let done = |stream: &mut TcpStream| send(stream, success(&json!({"success": true})).as_bytes());
    let cases: [(Draw, &str); 6] = [
        (
            |_, stream| {
                send(
                    stream,
                    b"{\"status\": \"error\", \"message\": \"no viewport\"}",
                );
            },
            "no viewport",
        ),
        (
            |request, stream| {
                fs::write(target(request), PNG).unwrap();
                send(
                    stream,
                    b"{\"status\": \"success\", \"result\": {\"error\": \"half drawn\"}}",
                );
            },
            "half drawn",
        ),
        (
            |request, stream| {
                fs::write(target(request), PNG).unwrap();
                let _ = stream.shutdown(Shutdown::Both);
            },
            "closed the connection",
        ),
        (
            |request, stream| {
                fs::write(target(request), "GIF89a").unwrap();
                send(stream, success(&json!({"success": true})).as_bytes());
            },
            "not a PNG",
        ),
        (
            |request, stream| {
                fs::create_dir(target(request)).unwrap();
                fs::write(target(request).join("more"), PNG).unwrap();
                send(stream, success(&json!({"success": true})).as_bytes());
            },
            "there is no picture: it is not a regular file",
        ),
        (
            |request, stream| {
                std::os::unix::fs::symlink("/dev/zero", target(request)).unwrap();
                send(stream, success(&json!({"success": true})).as_bytes());
            },
            "there is no picture: it is not a regular file",
        ),
    ];
    for (draw, says) in cases {
        let home = Home::new();
        let peer = Peer::start(draw);
        error_text(
            tool(&home, &peer, "blender_screenshot", &json!({})).run(),
            &[],
        )
        .assert_has(&[says]);
        assert_eq!(
            fs::read_dir(home.path().join(PICTURES)).unwrap().count(),
            0,
            "{says}"
        );
    }
    let home = Home::new();
    let peer = Peer::start(move |_, stream| done(stream));
    error_text(
        tool(&home, &peer, "blender_screenshot", &json!({})).run(),
        &[],
    )
    .assert_has(&["no such file"]);
}
