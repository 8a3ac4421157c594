//! What only the build can do: options for the linker, and the tokenizer's vocabulary and some tables in a form that is small.

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
    order_functions();
    let out = var("OUT_DIR")?;
    for (source, name) in TABLES {
        write_table(source, &Path::new(&out).join(name))?;
    }
    write_vocabulary(&Path::new(&out).join("o200k.deflate"))
}

/// Tables of text, and their names in the folder of the build.
const TABLES: [(&str, &str); 4] = [
    ("src/llm/models/table.txt", "models.txt"),
    ("src/llm/models/endings.txt", "endings.txt"),
    ("src/base/redact/formats.txt", "formats.txt"),
    ("src/tools/engine/everyday_words.txt", "everyday_words.txt"),
];

/// Writes a table without what is there for its readers: its comments, and the blanks that make its columns. Those at the beginning of a line stay.
fn write_table(source: &str, path: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={source}");
    let mut out = String::new();
    for line in fs::read_to_string(source)?.lines() {
        let words = line.trim_start();
        if words.is_empty() || words.starts_with('#') {
            continue;
        }
        out.push_str(&line[..line.len() - words.len()]);
        out.push_str(&words.split_whitespace().collect::<Vec<_>>().join(" "));
        out.push('\n');
    }
    Ok(fs::write(path, out)?)
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

/// Has the linker lay side by side what short runs enter (`scripts/start_order.py` lists it).
///
/// The system maps 64 KB of a program where a page of it is touched. Spread over 12 MB of code, the functions of one answer make twelve megabytes
/// resident; side by side, seven to nine, with a quarter of the page faults and a fifth of the processor time less. Only the compiler's own
/// linker is asked: others may not know the option.
fn order_functions() {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    println!("cargo::rerun-if-changed=scripts/start-order.txt");
    let is = |name, value| var(name).is_ok_and(|found| found == value);
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_own_linker = var("RUSTC_LINKER").is_err() && !flags.contains("link");
    if is("PROFILE", "release") && is("TARGET", TARGET) && is_own_linker && has_lld(TARGET) {
        let root = var("CARGO_MANIFEST_DIR").unwrap_or_default();
        let list = format!("-Wl,--symbol-ordering-file={root}/scripts/start-order.txt");
        println!("cargo::rustc-link-arg-bins={list}");
        // Names change with the code; those that are gone are no news.
        println!("cargo::rustc-link-arg-bins=-Wl,--no-warn-symbol-ordering");
        // Functions that are the same in machine code, of one generic for several types above all, stand once.
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}

/// Whether the compiler brings a linker for the target, which it then uses.
fn has_lld(target: &str) -> bool {
    let rustc = var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let answer = Command::new(rustc).args(["--print", "sysroot"]).output();
    let sysroot = answer
        .ok()
        .and_then(|told| String::from_utf8(told.stdout).ok());
    sysroot.is_some_and(|root| {
        let own = format!("lib/rustlib/{target}/bin/gcc-ld/ld.lld");
        Path::new(root.trim()).join(own).exists()
    })
}

/// The version of this system's C library; none when it is not glibc.
fn glibc() -> Option<(u32, u32)> {
    let answer = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = String::from_utf8(answer.ok()?.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let digits = minor.split('.').next()?;
    Some((major.parse().ok()?, digits.parse().ok()?))
}

/// Writes the tokens of the o200k encoding in the order of their ranks, compressed: the 256 of one byte, then the others, each behind a byte that no
/// other has.
///
/// The crate has them as text in base64, 3.6 MB that would be a fifth of the program; this is a quarter of it. `chat/vocabulary.rs` reads it.
fn write_vocabulary(path: &Path) -> Result<(), Box<dyn Error>> {
    const MARK: u8 = 2;
    let tokenizer = tiktoken_rs::o200k_base()?;
    let mut file = DeflateEncoder::new(fs::File::create(path)?, Compression::best());
    for rank in 0.. {
        // The special tokens come after a gap, and no text is made of them.
        let Ok(token) = tokenizer.decode_bytes(&[rank]) else {
            break;
        };
        let is_byte = token.len() == 1;
        if is_byte != (rank < 256) || !is_byte && token.contains(&MARK) {
            return Err(format!("the token {rank} does not fit the form of the file").into());
        }
        if !is_byte {
            file.write_all(&[MARK])?;
        }
        file.write_all(&token)?;
    }
    file.finish()?;
    Ok(())
}
