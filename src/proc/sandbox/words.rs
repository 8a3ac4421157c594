//! What is said of the sandbox: what it lets a command do, when that may be why one failed, and what this kernel holds.

use super::policy::{Policy, SandboxMode};
use crate::base::text::escape_controls;

/// Where in a command's output a refusal is looked for, from its end, in bytes.
const LOOKED_AT_BYTES: usize = 64 << 10;
/// What programs say when the system refused them something: the C library's words, which some begin with a capital letter.
const SIGNS: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "cross-device link",
    "network is unreachable",
];
/// The same as codes, which are parts of other words in small letters.
const CODES: &[&str] = &["EACCES", "EPERM", "EXDEV"];
/// What they say without a network when they look up a name, which needs it.
const NAME_SIGNS: &[&str] = &[
    "could not resolve host",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "eai_again",
];

impl Policy {
    /// The ways in which whoever started Marvin can allow more.
    pub(crate) fn ways(&self) -> &'static str {
        match self.mode {
            // The others do nothing there.
            SandboxMode::ReadOnly => {
                "The caller can allow more: --sandbox workspace-write, --sandbox danger-full-access."
            }
            SandboxMode::WorkspaceWrite | SandboxMode::DangerFullAccess if self.network => {
                "The caller can allow more: --add-dir DIR, --sandbox danger-full-access."
            }
            SandboxMode::WorkspaceWrite | SandboxMode::DangerFullAccess => {
                "The caller can allow more: --add-dir DIR, --sandbox-network on, --sandbox danger-full-access."
            }
        }
    }

    /// The mode and the network, as in parentheses.
    pub(crate) fn summary(&self) -> String {
        let network = if self.network {
            "network"
        } else {
            "no network"
        };
        format!("{}, {network}", self.mode.word())
    }

    /// What a command that failed with `output` is told besides, when the sandbox may be why.
    pub(crate) fn hint(&self, output: &str) -> Option<String> {
        let mut from = output.len().saturating_sub(LOOKED_AT_BYTES);
        while !output.is_char_boundary(from) {
            from += 1;
        }
        let end = output.get(from..).unwrap_or_default();
        let words = end.to_ascii_lowercase();
        let names = NAME_SIGNS.iter().filter(|_| !self.network);
        let is_refused = SIGNS.iter().chain(names).any(|sign| words.contains(sign));
        if !is_refused && !CODES.iter().any(|code| end.contains(code)) {
            return None;
        }
        let network = match (self.network, self.local_sockets) {
            (true, false) => "there is network, and Unix sockets cannot be made",
            (true, true) => "there is network",
            (false, _) => "there is no network",
        };
        Some(format!(
            "[Commands run in a sandbox here ({}). It may be why this was refused. They can change: {}; {network}. {}]",
            self.mode.word(),
            // On one line, whatever a folder is called.
            escape_controls(&self.writable.join(", ")).replace('\n', "\\n"),
            self.ways()
        ))
    }
}

/// What a command is told besides in whose linked worktree git could delete no reference, or make no worktree. It need not have failed: git goes on after some
/// of that.
pub(crate) fn references_hint(output: &str) -> Option<&'static str> {
    if output.contains("Cannot save the current status") {
        return Some(
            "[git stash is shared with the worktree of the user, so it is closed here, and nothing was put aside. Commit on the branch of this worktree instead.]",
        );
    }
    let is_refused = |line: &str| {
        let is_there = line.contains("packed-refs.lock") || line.contains(".git/worktrees/");
        is_there && line.contains("Permission denied")
    };
    output.lines().any(is_refused).then_some(
        "[In the sandbox of a linked worktree git cannot delete or rename branches and tags, bisect, or make worktrees: that changes the repository beside its configuration. What it says of packed-refs at the end of checkout, merge, reset, cherry-pick, revert, stash or rebase changes nothing: they are complete. Do the former outside the sandbox, or leave it to the user.]",
    )
}

/// What Landlock of version `abi` holds, and what it does not, each as a list.
pub(crate) fn held(abi: u32) -> (String, String) {
    let since: [(u32, &str); 5] = [
        (
            1,
            "changes of files outside, sockets, calls into the kernel",
        ),
        (2, "links and renames between folders one by one"),
        (3, "truncation one by one"),
        (5, "requests to devices"),
        (6, "signals to processes outside"),
    ];
    let part = |is_held: bool| {
        let rows = since.iter().filter(|(first, _)| (*first <= abi) == is_held);
        rows.map(|(_, what)| *what).collect::<Vec<_>>()
    };
    let mut open = part(false);
    open.extend([
        "reading",
        "mode, owner, times and attributes of files outside (but read-only)",
    ]);
    (part(true).join(", "), open.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_near_the_end_of_the_output_brings_a_hint_and_nothing_else_does() {
        let policy = Policy {
            writable: vec!["/work".to_owned()],
            ..Policy::default()
        };
        for output in [
            "touch: cannot touch 'x': Permission denied\nexit code: 1",
            "Error: EACCES: permission denied, open '/x'",
            "connect: Network is unreachable",
            "dial unix /var/run/docker.sock: connect: permission denied",
            "mv: cannot move 'a' to 'b/a': Invalid cross-device link",
            "curl: (6) Could not resolve host: example.org",
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        ] {
            let hint = policy.hint(output).unwrap();
            for part in [
                "read-only",
                "may be why",
                "/work",
                "no network",
                "--sandbox workspace-write",
            ] {
                assert!(hint.contains(part), "{hint}");
            }
            // They would do nothing there.
            assert!(!hint.contains("--add-dir"), "{hint}");
        }
        let open = Policy {
            mode: SandboxMode::WorkspaceWrite,
            network: true,
            ..policy.clone()
        };
        let hint = open.hint("Permission denied").unwrap();
        assert!(hint.contains("--add-dir"), "{hint}");
        // What is on need not be switched on.
        assert!(!hint.contains("--sandbox-network"), "{hint}");
        let closed = Policy {
            network: false,
            ..open.clone()
        };
        assert!(closed.ways().contains("--sandbox-network on"));
        assert_eq!(open.hint("checkFilePermission: no such function"), None);
        assert_eq!(open.hint("Could not resolve host: exmaple.org"), None);
        assert_eq!(policy.hint("error: expected `;`"), None);
        let network = |local_sockets| Policy {
            network: true,
            local_sockets,
            ..policy.clone()
        };
        let of = |local_sockets| network(local_sockets).hint("EPERM").unwrap();
        assert!(of(false).contains("network, and Unix sockets cannot be made"));
        assert!(of(true).contains("there is network. "), "{}", of(true));
        let early = format!("Permission denied\n{}", "é\n".repeat(LOOKED_AT_BYTES / 2));
        assert_eq!(policy.hint(&early), None);
    }

    #[test]
    fn a_stash_that_was_refused_is_told_from_a_reference_that_stays() {
        for (output, told) in [
            (
                "Cannot save the current status\n",
                Some("git stash is shared"),
            ),
            (
                "'/r/packed-refs.lock': Permission denied",
                Some("cannot delete"),
            ),
            ("Saved working directory", None),
        ] {
            let hint = references_hint(output);
            assert_eq!(hint.is_some(), told.is_some(), "{output}");
            assert!(
                told.is_none_or(|told| hint.unwrap().contains(told)),
                "{output}"
            );
        }
    }

    #[test]
    fn newer_kernels_hold_more() {
        let lists: Vec<(String, String)> = (1..=7).map(held).collect();
        assert!(lists.is_sorted_by_key(|(holds, _)| holds.len()));
        assert!(lists[0].1.contains("signals") && lists[6].0.contains("signals"));
        assert!(lists.iter().all(|(_, open)| open.contains("reading")));
    }
}
