//! Two things that only the build can do: an option for the linker, and the tokenizer's vocabulary in a form that is small.

use std::env::var;
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=scripts/build.rs");
    pack_relocations();
    write_vocabulary(&Path::new(&var("OUT_DIR")?).join("o200k.deflate"))
}

/// Has the linker pack the relative relocations of a position-independent executable.
///
/// Every start relocates some 26,000 pointers in tables of text. Packed, the list of them takes 8 KB instead of 0.6 MB that every start
/// would read. A loader older than glibc 2.36 refuses such a program, so the option is given only where the system that builds has
/// that version, and the program runs there or on a newer one. musl is left alone.
fn pack_relocations() {
    let is = |name, value| var(name).is_ok_and(|found| found == value);
    let on_glibc = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if on_glibc && var("HOST") == var("TARGET") && glibc() >= Some((2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this system's C library; none when it is not glibc.
fn glibc() -> Option<(u32, u32)> {
    let answer = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = String::from_utf8(answer.ok()?.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let digits = minor.split('.').next()?;
    Some((major.parse().ok()?, digits.parse().ok()?))
}

/// Writes the tokens of the o200k encoding in the order of their ranks, each behind a byte with its length, compressed.
///
/// The crate has them as text in base64, 3.6 MB that would be a fifth of the program; this is less than a third of it. `chat/vocabulary.rs` reads it.
fn write_vocabulary(path: &Path) -> Result<(), Box<dyn Error>> {
    let tokenizer = tiktoken_rs::o200k_base()?;
    let mut file = DeflateEncoder::new(fs::File::create(path)?, Compression::best());
    for rank in 0.. {
        // The special tokens come after a gap, and no text is made of them.
        let Ok(token) = tokenizer.decode_bytes(&[rank]) else {
            break;
        };
        file.write_all(&[u8::try_from(token.len())?])?;
        file.write_all(&token)?;
    }
    file.finish()?;
    Ok(())
}
