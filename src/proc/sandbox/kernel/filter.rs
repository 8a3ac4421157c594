//! The filter of system calls: sockets, and what would undo Landlock's rules or reach into the kernel. See seccomp(2).
//!
//! It knows the calls of one architecture. A program of another (32-bit) is ended by SIGSYS; x32's calls, which look like x86-64's, are refused as a whole.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter, sock_filter,
};

use crate::proc::sandbox::policy::{Policy, SandboxMode};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that a command never needs and that lead out: mounts, the kernel's modules and programs, other processes' memory, keys, clock and host name, files by
/// handle, and rings, whose operations no filter sees.
const NEVER: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    KEXEC_FILE_LOAD,
    libc::SYS_reboot,
    libc::SYS_open_by_handle_at,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// System V shared memory, messages and semaphores: any process of the user finds them by their numbers, so that these would change what is outside. Where
/// commands may change their folder they are open, because databases and fakeroot work with them.
const SYSTEM_V: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
];

/// Calls that change mode, owner, times and attributes, which Landlock does not know.
const ATTRIBUTES: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
];

// Numbers that the crate does not have for every architecture; those of new calls are the same everywhere.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;
#[cfg(target_arch = "x86_64")]
const KEXEC_FILE_LOAD: i64 = 320;
#[cfg(target_arch = "aarch64")]
const KEXEC_FILE_LOAD: i64 = 294;

/// `ioctl` requests that type on a terminal as if a person did, which a shell outside would obey.
const TYPING: [u64; 2] = [0x5412, 0x541c];
/// `ioctl` requests that reach beyond what a descriptor was opened for, which Landlock does not see: TIOCVHANGUP ends the sessions of a terminal, FIFREEZE,
/// FITHAW, FITRIM and `FS_IOC_SHUTDOWN` hold up a whole file system, `FS_IOC_ENABLE_VERITY` and `FS_IOC_SET_ENCRYPTION_POLICY` close a file or folder for good,
/// and `OCFS2_IOC_REFLINK` makes a file at a path.
const BEYOND: [u64; 8] = [
    0x5437,
    0xc004_5877,
    0xc004_5878,
    0xc018_5879,
    0x8004_587d,
    0x4080_6685,
    0x800c_6613,
    0x4018_6f04,
];
/// The types of the requests of btrfs and bcachefs, which make and remove volumes with contents wherever a folder was opened for reading, as bits of a request.
const VOLUMES: [u64; 2] = [0x9400, 0xbc00];
/// The bits of a request that are its type.
const REQUEST_TYPE: u64 = 0xff00;
/// What other file systems have of btrfs's, and `cp` uses, to a descriptor that is open for writing: FICLONE, FICLONERANGE, FIDEDUPERANGE.
const CLONING: [u64; 3] = [0x4004_9409, 0x4020_940d, 0xc018_9436];
/// `ioctl` requests that set a file's flags, as chattr does: `FS_IOC_SETFLAGS`, `FS_IOC_FSSETXATTR`, `FS_IOC_SETVERSION`, `FAT_IOCTL_SET_ATTRIBUTES`.
const FLAGS: [u64; 4] = [0x4008_6602, 0x401c_5820, 0x4008_7602, 0x4004_7211];

/// The bits of a socket's type that are not flags.
const TYPE_BITS: u64 = 0xf;
/// Number of those types.
const TYPES: u64 = 16;

/// Sets the filter for this thread and whatever it becomes.
pub(super) fn apply(policy: &Policy, abi: u32) -> Result<(), String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| failed(&error))?;
    let rules = [
        (
            refused(policy, abi).map_err(|error| failed(&error))?,
            libc::EPERM,
        ),
        (
            sockets(policy).map_err(|error| failed(&error))?,
            libc::EACCES,
        ),
        // Programs ask for this one first and do without where there is none.
        (unreadable(abi), libc::ENOSYS),
    ];
    if cfg!(target_arch = "x86_64") {
        apply_filter(&refuse_x32()).map_err(|error| failed(&error))?;
    }
    for (rules, errno) in rules {
        if rules.is_empty() {
            continue;
        }
        let errno = SeccompAction::Errno(errno.unsigned_abs());
        let program = SeccompFilter::new(rules, SeccompAction::Allow, errno, arch)
            .and_then(BpfProgram::try_from)
            .map_err(|error| failed(&error))?;
        apply_filter(&program).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// Sets a filter that lets every call through.
pub(super) fn apply_nothing() -> Result<(), String> {
    apply_filter(&[statement(ANSWER, 0, 0, ALLOW)]).map_err(|error| failed(&error))
}

fn failed(error: &dyn std::fmt::Display) -> String {
    format!("the filter of system calls: {error}")
}

/// An instruction of a filter; see <https://docs.kernel.org/networking/filter.html>.
fn statement(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// The instruction that ends a filter, and its answer to a call that may be made.
const ANSWER: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;

/// Refuses every call whose number has the bit of x32.
fn refuse_x32() -> Vec<sock_filter> {
    let (load, jump_if_at_least) = (0x20, 0x35);
    vec![
        // The number is the first word of what a filter sees.
        statement(load, 0, 0, 0),
        statement(jump_if_at_least, 0, 1, 0x4000_0000),
        statement(ANSWER, 0, 0, 0x0005_0000 | libc::EPERM.unsigned_abs()),
        statement(ANSWER, 0, 0, ALLOW),
    ]
}

fn condition(
    argument: u8,
    op: Op,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, Length::Dword, op, value)
}

/// What is refused with "Operation not permitted".
fn refused(policy: &Policy, abi: u32) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = NEVER.iter().map(|call| (*call, Vec::new())).collect();
    let mut requests = [&TYPING[..], &BEYOND].concat();
    if policy.mode == SandboxMode::ReadOnly {
        let calls = ATTRIBUTES.iter().chain(SYSTEM_V);
        rules.extend(calls.map(|call| (*call, Vec::new())));
        requests.extend(FLAGS);
    }
    let request = |request| SeccompRule::new(vec![condition(1, Op::Eq, request)?]);
    let requests: Result<Vec<_>, _> = requests.into_iter().map(request).collect();
    let mut requests = requests?;
    for volumes in VOLUMES {
        let mut all = vec![condition(1, Op::MaskedEq(REQUEST_TYPE), volumes)?];
        for cloning in CLONING {
            all.push(condition(1, Op::Ne, cloning)?);
        }
        requests.push(SeccompRule::new(all)?);
    }
    rules.insert(libc::SYS_ioctl, requests);
    // Limits of another process, with which it could be ended.
    let new_limit = SeccompCondition::new(2, Length::Qword, Op::Ne, 0)?;
    let of_another = SeccompRule::new(vec![condition(0, Op::Ne, 0)?, new_limit])?;
    rules.insert(libc::SYS_prlimit64, vec![of_another]);
    if abi < 3 {
        // Landlock does not know truncation yet; opening for writing it does.
        rules.insert(libc::SYS_truncate, Vec::new());
        let access = u64::from((libc::O_ACCMODE | libc::O_TRUNC).unsigned_abs());
        let reading = u64::from((libc::O_RDONLY | libc::O_TRUNC).unsigned_abs());
        let neither = libc::O_WRONLY | libc::O_RDWR | libc::O_TRUNC;
        let neither = u64::from(neither.unsigned_abs());
        // The access mode 3, which permits neither reading nor writing, is no writing to Landlock either, and truncates all the same.
        let truncates = |argument| {
            [reading, neither]
                .into_iter()
                .map(|flags| {
                    SeccompRule::new(vec![condition(argument, Op::MaskedEq(access), flags)?])
                })
                .collect::<Result<Vec<_>, _>>()
        };
        #[cfg(target_arch = "x86_64")]
        rules.insert(libc::SYS_open, truncates(1)?);
        rules.insert(libc::SYS_openat, truncates(2)?);
    }
    Ok(rules)
}

/// Calls whose arguments a filter cannot read where it would have to.
fn unreadable(abi: u32) -> Rules {
    let calls = match abi {
        0..3 => vec![libc::SYS_openat2],
        _ => Vec::new(),
    };
    calls.into_iter().map(|call| (call, Vec::new())).collect()
}

/// Which sockets cannot be made, as the rules of what is refused with "Permission denied".
fn sockets(policy: &Policy) -> Result<Rules, seccompiler::BackendError> {
    let is = |domain: libc::c_int| condition(0, Op::Eq, u64::from(domain.unsigned_abs()));
    let is_not = |domain: libc::c_int| condition(0, Op::Ne, u64::from(domain.unsigned_abs()));
    let of_type = |kind: u64| condition(1, Op::MaskedEq(TYPE_BITS), kind);
    let stream = u64::from(libc::SOCK_STREAM.unsigned_abs());
    let packets = u64::from(libc::SOCK_SEQPACKET.unsigned_abs());

    // One end of a pair of datagram sockets could send to any other socket of this machine.
    let mut pairs = vec![SeccompRule::new(vec![is_not(libc::AF_UNIX)?])?];
    for kind in (0..TYPES).filter(|kind| *kind != stream && *kind != packets) {
        pairs.push(SeccompRule::new(vec![of_type(kind)?])?);
    }
    let mut rules = Rules::new();
    if !policy.local_sockets {
        rules.insert(libc::SYS_socketpair, pairs);
    }
    let mut made = Vec::new();
    if policy.network {
        let mut other = vec![
            is_not(libc::AF_INET)?,
            is_not(libc::AF_INET6)?,
            is_not(libc::AF_NETLINK)?,
        ];
        if policy.local_sockets {
            other.push(is_not(libc::AF_UNIX)?);
        }
        made.push(SeccompRule::new(other)?);
        // The list of addresses and routes, and no other of the kernel's lists.
        let route = u64::from(libc::NETLINK_ROUTE.unsigned_abs());
        let lists = vec![is(libc::AF_NETLINK)?, condition(2, Op::Ne, route)?];
        made.push(SeccompRule::new(lists)?);
    } else {
        made.push(SeccompRule::new(vec![is_not(libc::AF_UNIX)?])?);
        if !policy.local_sockets {
            for kind in (0..TYPES).filter(|kind| *kind != stream) {
                made.push(SeccompRule::new(vec![of_type(kind)?])?);
            }
            rules.insert(libc::SYS_connect, Vec::new());
        }
    }
    rules.insert(libc::SYS_socket, made);
    Ok(rules)
}
