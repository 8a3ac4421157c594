//! Downloads, push messages, clones and packages through the built binary, over real sockets and with the real programs where they
//! are installed (scripts/world-tools.sh puts them into a folder).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::home::Home;
use crate::support::proxy::Proxy;
use crate::support::run::{Marvin, program};
use crate::support::server::{Answer, Server};
use crate::support::shared::skip;
use crate::support::words::TextAssertions;

pub(crate) fn tool(home: &Home, name: &str, args: &[&str]) -> Marvin {
    home.marvin()
        .args(["tool", name])
        .args(args.iter().copied())
}

/// Every file below a folder, hidden ones too.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.symlink_metadata().unwrap().is_dir() {
                true => open.push(path),
                false => found.push(path),
            }
        }
    }
    found
}

#[test]
fn a_download_is_saved_whole_under_a_free_name() {
    let home = Home::new();
    let server = Server::answering(|request, _| match request.path.as_str() {
        "/away" => Answer::status(302).header("Location", "/there/b%20c.txt"),
        "/named" => Answer::text("text/plain", "named")
            .header("Content-Disposition", "attachment; filename=\"../../x\""),
        _ => Answer::text("text/plain", "plain"),
    });
    let get = |args: &[&str]| {
        tool(&home, "download_file", args).env("MARVIN_ALLOW_PRIVATE", server.address().to_string())
    };
    let url = |path: &str| format!("url={}", server.url(path));
    for want in ["a.txt", "a (2).txt"] {
        get(&[&url("/a.txt")]).prints(&[&format!("Downloads/{want} (5 bytes)")]);
        assert_eq!(home.read(&format!("Downloads/{want}")), "plain");
    }
    get(&[&url("/away")]).prints(&["b c.txt", "It came from"]);
    get(&[&url("/named")]).run().expect(0);
    assert_eq!(home.read("Downloads/x"), "named");
    get(&[&url("/a.txt"), "filename=own name.md"])
        .run()
        .expect(0);
    assert_eq!(home.read("Downloads/own name.md"), "plain");
    for name in ["../x", "a/b", "..", ".bashrc", "-o", "/etc/x"] {
        get(&[&url("/a.txt"), &format!("filename={name}")]).fails(&["cannot be the name"]);
    }
    assert_eq!(files(&home.path().join("Downloads")).len(), 5);
    assert_eq!(server.request(0).header("user-agent"), Some("Marvin/0.1.0"));
}

#[test]
fn private_addresses_are_not_fetched_under_any_name() {
    let home = Home::new();
    let server =
        Server::always(Answer::status(302).header("Location", "http://2130706434:9/secret"));
    let port = server.address().port();
    for host in [
        "127.0.0.1",
        "localhost",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "[::ffff:127.0.0.1]",
        "127.0.0.1.",
    ] {
        let url = format!("url=http://{host}:{port}/");
        tool(&home, "download_file", &[&url]).fails(&["not opened", "MARVIN_ALLOW_PRIVATE"]);
    }
    assert_eq!(server.requests().len(), 0);
    let url = format!("url={}", server.url("/"));
    let allowed = server.address().to_string();
    let run = tool(&home, "download_file", &[&url]).env("MARVIN_ALLOW_PRIVATE", &allowed);
    run.fails(&["The address redirects: 127.0.0.2", "not opened"]);
    // The user's settings may let through what a project's may not.
    home.write(
        "config/config.yaml",
        format!("MARVIN_ALLOW_PRIVATE: \"{allowed}\"\n"),
    );
    tool(&home, "download_file", &[&url]).fails(&["The address redirects"]);
    for url in [
        "file:///etc/passwd",
        "-o/tmp/x",
        "ftp://a.test/x",
        "http://u@a.test/",
        "http://a.test\\@b/",
    ] {
        tool(&home, "download_file", &[&format!("url={url}")]).fails(&[]);
    }
    assert_eq!(files(&home.path().join("Downloads")), [] as [PathBuf; 0]);
}

#[test]
fn an_unrequested_partial_response_is_not_a_file() {
    let home = Home::new();
    let server = Server::always(
        Answer::status(206)
            .header("content-range", "bytes 0-9/1000")
            .header("content-type", "text/plain")
            .send("0123456789"),
    );
    for (name, key) in [
        ("download_file", "url"),
        ("browse_web", "url"),
        ("read_rss", "url"),
    ] {
        let output = tool(&home, name, &[&format!("{key}={}", server.url("/big.txt"))])
            .env("MARVIN_ALLOW_PRIVATE", "127.0.0.0/8")
            .run()
            .expect(1);
        output.errors().assert_has_for(&name, &["only a part"]);
    }
    assert_eq!(files(&home.path().join("Downloads")), [] as [PathBuf; 0]);
}

#[test]
fn behind_a_proxy_the_guard_still_checks_addresses() {
    let home = Home::new();
    let server = Server::always(Answer::text("text/plain", "through"));
    let proxy = Proxy::to(server.address());
    let get = |url: &str| {
        tool(&home, "download_file", &[&format!("url={url}")])
            .env("HTTP_PROXY", proxy.url(""))
            .env("HTTPS_PROXY", proxy.url(""))
    };
    for url in "http://10.0.0.1/x https://10.0.0.1/x http://printer.local/x http://0x0a000001/x \
        http://intranet/x http://[::ffff:10.0.0.1]/x http://169.254.169.254/x \
        http://metadata.google.internal/x"
        .split_ascii_whitespace()
    {
        get(url).fails(&["not opened"]);
    }
    assert_eq!(proxy.seen().len(), 0);
    // The proxy looks up names that are unknown here.
    get("http://nowhere.invalid/a.txt").run().expect(0);
    assert_eq!(home.read("Downloads/a.txt"), "through");
    assert_eq!(proxy.seen()[0].path, "http://nowhere.invalid/a.txt");
    if program("yt-dlp").is_none() {
        return skip(
            "world: yt-dlp behind a proxy",
            "the program is not installed",
        );
    }
    let video = Server::always(Answer::text("video/mp4", vec![7u8; 4_000]));
    let proxy = Proxy::to(video.address());
    tool(
        &home,
        "yt_dlp_download",
        &["url=http://nowhere.invalid/clip.mp4"],
    )
    .env("HTTP_PROXY", proxy.url("me:pw"))
    .prints(&["clip.mp4 (4.0 kB)"]);
    let asked = &proxy.seen()[0];
    assert_eq!(asked.path, "http://nowhere.invalid/clip.mp4");
    assert_eq!(asked.header("proxy-authorization"), Some("Basic bWU6cHc="));
}

#[test]
fn a_full_disk_leaves_no_partial_download() {
    let home = Home::new();
    let folder = home.path().join("Downloads");
    fs::create_dir(&folder).unwrap();
    let mut mount = Command::new("mount");
    mount
        .args(["-t", "tmpfs", "-o", "size=128k", "tmpfs"])
        .arg(&folder);
    if !mount
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
    {
        return skip(
            "world: a full disk",
            "no right to mount a small file system",
        );
    }
    let server = Server::answering(|request, _| match request.path.as_str() {
        "/told" => Answer::text("text/plain", vec![b'x'; 1 << 20]),
        "/small" => Answer::text("text/plain", "x"),
        _ => Answer::stream("text/plain", [vec![b'x'; 1 << 20]]),
    })
    .lenient();
    let run = |path: &str| {
        tool(
            &home,
            "download_file",
            &[&format!("url={}", server.url(path))],
        )
        .env("MARVIN_ALLOW_PRIVATE", "127.0.0.1")
        .run()
    };
    let (told, untold) = (run("/told"), run("/untold"));
    let left = files(&folder);
    let small = run("/small");
    let unmounted = Command::new("umount")
        .arg("-l")
        .arg(&folder)
        .status()
        .unwrap();
    assert!(unmounted.success());
    told.expect(1).stderr_has(&["has 131.1 kB free"]);
    untold.expect(1).stderr_has(&["is full"]);
    assert_eq!(left, [] as [PathBuf; 0]);
    small.expect(0);
}

#[test]
fn a_missing_video_is_not_reported_as_present() {
    let home = Home::new();
    let get = |text: &str| {
        home.program("bin/yt-dlp", format!("#!/bin/sh\necho '{text}'\n"));
        tool(&home, "yt_dlp_download", &["url=http://127.0.0.1:9/clip"])
            .env("MARVIN_ALLOW_PRIVATE", "127.0.0.1")
            .env(
                "PATH",
                format!("{}/bin:/usr/bin:/bin", home.path().display()),
            )
    };
    get("./gone.mp4").fails(&["gone.mp4, but there is no such file"]);
    get("[download] clip.mp4 has already been downloaded").prints(&["already"]);
}

#[test]
fn yt_dlp_downloads_through_the_guard_and_only_there() {
    let home = Home::new();
    let server = Server::answering(|request, _| match request.path.as_str() {
        path if path.starts_with("/clip.mp4") => Answer::text("video/mp4", vec![7u8; 40_000]),
        path if path.starts_with("/away") => {
            Answer::status(302).header("Location", "http://127.0.0.2:9/clip.mp4")
        }
        path if path.starts_with("/stall") => Answer::text("video/mp4", vec![7u8; 4_000])
            .claim_length(1 << 20)
            .stall(),
        _ => Answer::status(404),
    });
    let get = |args: &[&str]| {
        tool(&home, "yt_dlp_download", args)
            .env("MARVIN_ALLOW_PRIVATE", server.address().to_string())
    };
    for url in ["-o/tmp/x", "file:///etc/passwd", "ytsearch:cats"] {
        get(&[&format!("url={url}")]).fails(&[]);
    }
    let clip = format!("url={}", server.url("/clip.mp4"));
    get(&[&clip])
        .env("PATH", "/nowhere")
        .fails(&["yt-dlp was not found", "Install"]);
    if program("yt-dlp").is_none() {
        return skip("world: yt-dlp", "the program is not installed");
    }
    tool(&home, "yt_dlp_download", &[&clip]).fails(&["not opened"]);
    for dir in ["../up", "/abs", "a/../../b", "-x"] {
        get(&[&clip, &format!("output_dir={dir}")]).fails(&["is not a folder inside"]);
    }
    assert_eq!(server.requests().len(), 0);
    let output = get(&[&clip, "output_dir=talks"]).run().expect(0);
    let path = home.path().join("Downloads/yt-dlp/talks/clip.mp4");
    output.stdout_has(&[&format!("Downloaded video: {} (40.0 kB)", path.display())]);
    assert_eq!(fs::read(&path).unwrap().len(), 40_000);
    let output = get(&[&clip, "output_dir=talks"]).run().expect(0);
    assert!(
        output.text().contains("clip.mp4") || output.text().contains("already"),
        "{}",
        output.text()
    );
    get(&[&format!("url={}", server.url("/none.mp4"))]).fails(&["yt-dlp failed", "404"]);
    get(&[&format!("url={}", server.url("/away.mp4"))]).fails(&["127.0.0.2", "not opened"]);
    let running = get(&[&format!("url={}", server.url("/stall.mp4"))]).spawn();
    let folder = home.path().join("Downloads/yt-dlp");
    let start = Instant::now();
    while !files(&folder)
        .iter()
        .any(|path| path.to_string_lossy().contains(".part"))
    {
        assert!(
            start.elapsed() < Duration::from_secs(40),
            "yt-dlp wrote nothing"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    running.signal(Signal::INT);
    running.wait().stderr_has(&["Cancelled"]);
    assert_eq!(files(&folder), [path]);
}

#[test]
fn packages_are_added_by_the_real_uv() {
    let home = Home::new();
    let install = |args: &[&str]| tool(&home, "install_packages", args);
    for name in [
        "-r",
        "x;id",
        "x @ https://evil.test/x.whl",
        "../x",
        "--index-url=http://x",
    ] {
        install(&[&format!("packages={name}"), "manager=uv"]).fails(&["is not a package name"]);
    }
    install(&["packages=six"]).fails(&["No project file", "uv init --bare"]);
    install(&["packages=six", "manager=apt"]).fails(&["not a supported package manager", "sudo"]);
    install(&["packages=six", "manager=uv"])
        .env("PATH", "/nowhere")
        .fails(&["uv was not found", "Install it"]);
    install(&["packages=six", "manager=pip"]).fails(&["no virtual environment"]);
    let (Some(_), Some(python)) = (program("uv"), program("python3")) else {
        return skip("world: uv", "uv or python3 is not installed");
    };
    let wheel = home.path().join("tiny_thing-1.2-py3-none-any.whl");
    let script = "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1], 'w')\nd = 'tiny_thing-1.2.dist-info/'\n\
        z.writestr('tiny_thing.py', '')\nz.writestr(d + 'METADATA', 'Metadata-Version: 2.1\\nName: tiny-thing\\nVersion: 1.2\\n')\n\
        z.writestr(d + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\nz.writestr(d + 'RECORD', '')\nz.close()\n";
    let made = Command::new(python)
        .args(["-c", script])
        .arg(&wheel)
        .status()
        .unwrap();
    assert!(made.success());
    let bytes = fs::read(&wheel).unwrap();
    let index = Server::answering(move |request, _| match request.path.as_str() {
        "/simple/tiny-thing/" => Answer::text(
            "text/html",
            "<a href=\"/w/tiny_thing-1.2-py3-none-any.whl\">tiny_thing-1.2-py3-none-any.whl</a>",
        ),
        path if path.ends_with(".whl") => Answer::text("application/octet-stream", bytes.clone()),
        _ => Answer::status(404),
    });
    let pyproject = "[project]\nname = \"demo\"\nversion = \"0.1.0\"\nrequires-python = \">=3.8\"\ndependencies = []\n";
    home.write("work/pyproject.toml", pyproject);
    let add = |args: &[&str]| {
        install(args)
            .env("UV_DEFAULT_INDEX", index.url("/simple"))
            .env("VIRTUAL_ENV", "/nowhere")
            .env("CONDA_PREFIX", "/nowhere")
            .limit(Duration::from_secs(120))
    };
    add(&["packages=tiny-thing>=1,zzz-not-there"]).prints(&[
        "tiny-thing>=1: installed (tiny-thing 1.2).",
        "zzz-not-there: not installed.",
    ]);
    let now = home.read("work/pyproject.toml");
    now.assert_has(&["tiny-thing>=1"]);
    now.assert_lacks(&["zzz"]);
    add(&["packages=zzz-not-there", "dev=true"]).fails(&["installed nothing", "zzz-not-there"]);
    assert_eq!(home.read("work/pyproject.toml"), now);
    assert!(home.has("work/.venv"), "the environment of the project");
}
