//! Landlock: which files may be changed, and which processes signalled. See <https://docs.kernel.org/userspace-api/landlock.html>.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use crate::base::problem::io_words;
use crate::proc::sandbox::REPLACED;
use crate::proc::sandbox::policy::{Policy, SandboxMode};

/// Devices that any command may write: they keep nothing.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];
/// Memory that processes share by name, which pools of processes need.
const SHARED_MEMORY: &str = "/dev/shm";

/// The version of Landlock that this kernel and the crate have in common: rights are requested one by one, the newest first.
pub(in crate::proc::sandbox) fn landlock_abi() -> Result<u32, String> {
    // The crate asks the kernel as the very last thing that it does here, and keeps the error to itself.
    let _asked = Ruleset::default();
    let refused = io::Error::last_os_error();
    (1..=newest())
        .rev()
        .find(|abi| has(*abi))
        .ok_or_else(|| name_of(&refused))
}

/// The newest version that the crate knows.
fn newest() -> u32 {
    ABI::from(i32::MAX) as u32
}

/// Whether the right that came with version `abi` can be had.
fn has(abi: u32) -> bool {
    let asked = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let files = |version: ABI| asked().handle_access(AccessFs::from_all(version));
    let created = |asked: Ruleset| asked.create().is_ok();
    match abi {
        1 => files(ABI::V1).is_ok_and(created),
        2 => files(ABI::V2).is_ok(),
        3 => files(ABI::V3).is_ok(),
        4 => asked().handle_access(AccessNet::from_all(ABI::V4)).is_ok(),
        5 => files(ABI::V5).is_ok(),
        6 => asked().scope(Scope::from_all(ABI::V6)).is_ok(),
        7 => files(ABI::V5).is_ok_and(|asked| {
            let created = asked.create();
            created.is_ok_and(|created| created.log_new_exec(true).is_ok())
        }),
        // The version with which all threads can be restricted at once; of the two around it the files tell.
        8 | 9 => files(ABI::V9).is_ok(),
        10 => asked().handle_access(AccessNet::from_all(ABI::V10)).is_ok(),
        _ => false,
    }
}

/// The name of the error with which the kernel, or a filter in front of it, refused.
fn name_of(refused: &io::Error) -> String {
    match refused.raw_os_error() {
        Some(libc::ENOSYS) => "ENOSYS, the kernel has none".to_owned(),
        Some(libc::EOPNOTSUPP) => "EOPNOTSUPP, switched off at boot".to_owned(),
        Some(libc::EPERM) => "EPERM, forbidden by a filter around this process".to_owned(),
        _ => io_words(refused),
    }
}

/// Restricts this thread to what `policy` says, with all that version `abi` has; an error leaves it unrestricted or half so, and nothing may be run then.
pub(super) fn restrict(policy: &Policy, abi: u32) -> Result<(), String> {
    let version = ABI::from(i32::try_from(abi).unwrap_or(i32::MAX));
    let rights = Rights::new(policy, version);
    let rules = rules(policy, version, &rights).map_err(|error| format!("Landlock: {error}"))?;
    let rules = add_paths(rules, policy, &rights)?;
    let status = rules
        .restrict_self()
        .map_err(|error| format!("Landlock: {error}"))?;
    match status.ruleset {
        RulesetStatus::FullyEnforced if status.no_new_privs => Ok(()),
        _ => Err("Landlock was not enforced in full".to_owned()),
    }
}

/// What is handled at all, and what beneath a folder that is writable.
struct Rights {
    handled: BitFlags<AccessFs>,
    in_folder: BitFlags<AccessFs>,
    of_file: BitFlags<AccessFs>,
    of_device: BitFlags<AccessFs>,
    reading: BitFlags<AccessFs>,
}

impl Rights {
    fn new(policy: &Policy, version: ABI) -> Self {
        let mut writing = AccessFs::from_write(version);
        if policy.local_sockets {
            writing.remove(AccessFs::ResolveUnix);
        }
        let reading = AccessFs::from_read(version);
        let mut handled = writing;
        if policy.readable.is_some() {
            handled |= reading;
        }
        // Who is root could make a device of the whole disk.
        let mut in_folder = writing;
        in_folder.remove(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
        Self {
            handled,
            in_folder,
            of_file: in_folder & AccessFs::from_file(version),
            of_device: writing & (AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev),
            reading,
        }
    }
}

fn rules(
    policy: &Policy,
    version: ABI,
    rights: &Rights,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(rights.handled)?;
    let connecting = AccessNet::from_all(version);
    if !policy.network && !connecting.is_empty() {
        rules = rules.handle_access(connecting)?;
    }
    let mut scopes = Scope::from_all(version);
    if policy.local_sockets {
        scopes.remove(Scope::AbstractUnixSocket);
    }
    if !scopes.is_empty() {
        rules = rules.scope(scopes)?;
    }
    rules.create()
}

fn add_paths(
    mut rules: RulesetCreated,
    policy: &Policy,
    rights: &Rights,
) -> Result<RulesetCreated, String> {
    let add = |rules: RulesetCreated, handle: &dyn AsFd, rights: BitFlags<AccessFs>| {
        rules
            .add_rule(PathBeneath::new(handle.as_fd(), rights))
            .map_err(|error| format!("Landlock: {error}"))
    };
    for path in &policy.writable {
        let handle = open_real(path)?;
        let rights = match is_dir(&handle)? {
            true => rights.in_folder,
            false => rights.of_file,
        };
        rules = add(rules, &handle, rights)?;
    }
    let readable = policy.readable.as_deref().unwrap_or_default();
    if readable.iter().any(|path| !path.contains('/')) {
        // Names beneath it, and no contents.
        let listing = AccessFs::ReadDir.into();
        rules = add(rules, &open_here(".")?, listing)?;
    }
    for path in readable {
        let handle = match path.contains('/') {
            true => open_real(path)?,
            false => open_here(path)?,
        };
        let rights = match is_dir(&handle)? {
            true => rights.reading,
            false => rights.reading & !AccessFs::ReadDir,
        };
        rules = add(rules, &handle, rights)?;
    }
    if policy.readable.is_some() {
        return Ok(rules);
    }
    for path in DEVICES {
        // A container may lack one, or have a file or a link in its place.
        let is_one = fs::metadata(path)
            .is_ok_and(|metadata| metadata.file_type().is_char_device() || metadata.is_dir());
        if is_one && let Ok(handle) = PathFd::new(path) {
            rules = add(rules, &handle, rights.of_device)?;
        }
    }
    if policy.mode != SandboxMode::ReadOnly
        && Path::new(SHARED_MEMORY).is_dir()
        && let Ok(handle) = PathFd::new(SHARED_MEMORY)
    {
        rules = add(rules, &handle, rights.in_folder)?;
    }
    Ok(rules)
}

/// A handle of `path`, which has to be that path itself: a link that was put in its place since the policy was made leads elsewhere.
fn open_real(path: &str) -> Result<OwnedFd, String> {
    use rustix::fs::{Mode, OFlags};
    let failed = |error: rustix::io::Errno| {
        let error = io::Error::from(error);
        format!("{path} cannot be opened: {}", io_words(&error))
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let handle = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let real = rustix::fs::readlink(link, Vec::new()).map_err(failed)?;
    match OsStr::from_bytes(real.as_bytes()) == OsStr::new(path) {
        true => Ok(handle),
        false => Err(format!(
            "{path} {REPLACED}: it leads to {}",
            real.to_string_lossy()
        )),
    }
}

/// A handle of the entry `name` of the current folder, which is the right one whatever it is called by now. A link is refused.
fn open_here(name: &str) -> Result<OwnedFd, String> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(name, flags, Mode::empty()).map_err(|error| {
        let error = io::Error::from(error);
        format!("{name} cannot be opened: {}", io_words(&error))
    })
}

fn is_dir(handle: &OwnedFd) -> Result<bool, String> {
    let metadata = rustix::fs::fstat(handle).map_err(|error| {
        let error = io::Error::from(error);
        format!("a folder cannot be looked at: {}", io_words(&error))
    })?;
    Ok(rustix::fs::FileType::from_raw_mode(metadata.st_mode).is_dir())
}
