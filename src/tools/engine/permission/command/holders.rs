//! Programs that can run a command which stands in their arguments, one row each, from their manual pages.
//!
//! Programs whose arguments are code of their own language (`python3 -c`, `node -e`, `sqlite3`) are no rows: whoever allows them allows that. So are those that
//! run commands elsewhere, in a container or on another machine.

use crate::base::word_list::WordList;

/// A program, or several that read their arguments alike.
pub(super) struct Holder {
    names: WordList,
    pub holds: Holds,
    /// Its options. `ab` are letters without a value, `k:` has a value, `i=` may have one in its own word; the value of `e!` is a command, that of `c?`
    /// NAME=COMMAND, that of `e@` text of its language and that of `f%` a file of it. `--long` in the same way, and `-long` where one dash goes before many
    /// letters; `+` stands for words that begin with one, which are commands of the program. For [`Holds::Options`] and what is like it, only those that
    /// matter.
    pub options: WordList,
    /// Names of settings (all that begin with one that ends in a dot) which hold no command.
    pub harmless: WordList,
}

impl Holder {
    /// Whether any of its words may begin a command for what a rule that denies has to see.
    pub(super) fn runs_its_operands(&self) -> bool {
        match self.holds {
            Holds::Operands(_) | Holds::Filled | Holds::Joined | Holds::Find(_) => true,
            Holds::Remote | Holds::Script | Holds::Anything => true,
            Holds::Behind(_) | Holds::Git | Holds::Awk | Holds::Sed => false,
            Holds::Options | Holds::BundledOptions | Holds::Variables => false,
        }
    }
}

/// Where the command is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// It is the operands, behind so many others.
    Operands(usize),
    /// It is the operands, and further words come from elsewhere.
    Filled,
    /// A shell reads the operands as one text.
    Joined,
    /// It is the operands behind one of these words.
    Behind(&'static str),
    /// It follows one of these words.
    Find(&'static str),
    /// Nowhere but in options.
    Options,
    /// In options, also those of a first word without a dash.
    BundledOptions,
    /// In options; what comes behind the first operand runs on another machine.
    Remote,
    /// In options, and in the values of variables.
    Variables,
    /// In the text of the first operand.
    Awk,
    Sed,
    Git,
    /// In `-c`; the first operand is a file.
    Script,
    /// In a way that is not taken apart.
    Anything,
}

/// The row of a program; none for one that holds no command.
pub(super) fn holder(name: &str) -> Option<&'static Holder> {
    let of = |name: &str| HOLDERS.iter().find(|row| row.names.has(name));
    // `gtar`, `gtimeout`: GNU's program beside one of the system.
    of(name).or_else(|| of(name.strip_prefix('g')?))
}

/// The row of a command of git.
pub(super) fn git_holder(name: &str) -> Option<&'static Holder> {
    GIT_COMMANDS.iter().find(|row| row.names.has(name))
}

const fn row(names: &'static str, holds: Holds, options: &'static str) -> Holder {
    with_harmless(names, holds, options, "")
}

const fn with_harmless(
    names: &'static str,
    holds: Holds,
    options: &'static str,
    harmless: &'static str,
) -> Holder {
    Holder {
        names: WordList(names),
        holds,
        options: WordList(options),
        harmless: WordList(harmless),
    }
}

/// What git's options before its command and `git clone -c` may set.
const GIT_SETTINGS: &str = "advice. color. commit.gpgsign core.autocrlf core.quotepath init.defaultbranch log. safe.directory user.";

static HOLDERS: [Holder; 65] = [
    // Programs that start the command in their operands.
    row(
        "builtin busybox chronic coproc dbus-run-session entr fakeroot firejail",
        Holds::Operands(0),
        "",
    ),
    row(
        "nohup numactl pkexec prlimit setpriv systemd-run torsocks toybox unbuffer",
        Holds::Operands(0),
        "",
    ),
    row("bwrap ltrace valgrind xvfb-run", Holds::Operands(0), ""),
    row("caffeinate", Holds::Operands(0), "dimsu tw:"),
    row("chrt", Holds::Operands(1), "abdefiorRmvG TPD:"),
    row("command", Holds::Operands(0), "p"),
    row("doas", Holds::Operands(0), "n u:"),
    row(
        "env",
        Holds::Operands(0),
        "0iv uC: S! --null --ignore-environment --debug --unset: --chdir: --split-string!",
    ),
    row("exec", Holds::Operands(0), "cl a:"),
    row(
        "flock",
        Holds::Operands(1),
        "sexnuoF Ew: --shared --exclusive --unlock --nonblock --close --no-fork --timeout: --wait:",
    ),
    row(
        "ionice",
        Holds::Operands(0),
        "t cn: --ignore --class: --classdata:",
    ),
    row("jobs", Holds::Operands(0), "lnprsx"),
    row("nice", Holds::Operands(0), "0123456789 n: --adjustment:"),
    row("setsid", Holds::Operands(0), "cfw --ctty --fork --wait"),
    row(
        "stdbuf",
        Holds::Operands(0),
        "ioe: --input: --output: --error:",
    ),
    row(
        "strace",
        Holds::Operands(0),
        "AcCdfFiknqrtTvVwxyYzZ abeEIoOPsSuUX:",
    ),
    row(
        "sudo",
        Holds::Operands(0),
        "bEHklnPSvVK gpuCTDR: --non-interactive --preserve-env --set-home --user: --group:",
    ),
    row("taskset", Holds::Operands(1), "ac --all-tasks --cpu-list"),
    row(
        "time",
        Holds::Operands(0),
        "apvq fo: --append --portability --verbose --quiet --format: --output:",
    ),
    row(
        "timeout",
        Holds::Operands(1),
        "fpv ks: --foreground --preserve-status --verbose --kill-after: --signal:",
    ),
    row(
        "xargs",
        Holds::Filled,
        "0rtx adELnPs: --null --no-run-if-empty --verbose --arg-file: --delimiter: --max-args: --max-procs:",
    ),
    row(
        "watch",
        Holds::Joined,
        "bcdegptwx nq: --beep --color --differences --no-title --precise --interval:",
    ),
    row("eval", Holds::Joined, ""),
    row("bundle mise", Holds::Behind("exec x"), ""),
    row("npm pnpm yarn", Holds::Behind("exec x dlx"), "c! --call!"),
    row("hatch pdm pipenv pixi poetry uv", Holds::Behind("run"), ""),
    row("find", Holds::Find("-exec -execdir -ok -okdir"), ""),
    row(
        "chroot direnv nsenter parallel perf proot runuser screen script setarch socat su tmux trap unshare",
        Holds::Anything,
        "",
    ),
    // Shells. fish's -C, nu's -e and pwsh's -e are commands too.
    row(
        "ash bash dash rbash rzsh sh zsh",
        Holds::Script,
        "abefhiklmnprstuvxBCDEHPT oO: --login --noediting --noprofile --norc --posix --restricted --verbose --init-file: --rcfile:",
    ),
    row(
        "ksh mksh oksh osh pdksh posh rksh yash",
        Holds::Script,
        "aefhlmnuvx o:",
    ),
    row("csh elvish fish nu pwsh tcsh", Holds::Script, ""),
    // Programs that hold one in an option.
    row("ag bat batcat delta", Holds::Options, "--pager!"),
    row(
        "apt apt-get aptitude",
        Holds::Options,
        "c! o? --config-file! --option?",
    ),
    row(
        "awk mawk nawk original-awk",
        Holds::Awk,
        "bcCghkMnNOPrSstV dDLop= FvilW: fE% e@ --assign: --csv --exec% --field-separator: --file% --include: --lint= --load: --posix --re-interval \
         --source@ --version",
    ),
    row("cargo", Holds::Options, "C: --config?"),
    row("cc g++ gcc c++", Holds::Options, "-wrapper!"),
    row("cmake", Holds::Options, "E!"),
    row(
        "compgen mapfile readarray",
        Holds::Options,
        "C! AFGPSWXOnsutdc:",
    ),
    row("cpio", Holds::Options, "--rsh-command!"),
    row("ctest", Holds::Options, "--build-and-test! --test-command!"),
    row(
        "ex gvim nvim rvim vi view vim vimdiff",
        Holds::Options,
        "c! --cmd! --remote-send! --remote-expr! +",
    ),
    row("fc", Holds::Options, "e!"),
    row(
        "fd fdfind",
        Holds::Options,
        "x! X! detEcSoj: --exec! --exec-batch!",
    ),
    row("fzf", Holds::Options, "--preview! --bind!"),
    row(
        "gdb",
        Holds::Options,
        "-ex! -iex! -eval-command! -init-eval-command!",
    ),
    row("git", Holds::Git, ""),
    row("go", Holds::Options, "-exec! -toolexec! -vettool!"),
    row("install", Holds::Options, "gmotS: --strip-program!"),
    row(
        "less more",
        Holds::Options,
        "bhjkopPtTxyz: --lesskey-content! +",
    ),
    row(
        "make gnumake",
        Holds::Variables,
        "CfIoW: jlO= E! --eval! --directory: --file: --makefile: --include-dir:",
    ),
    row("man", Holds::Options, "PH! eLmMrRsS: --pager! --html!"),
    row(
        "nc ncat netcat",
        Holds::Options,
        "ec! --exec! --sh-exec! --lua-exec!",
    ),
    row("npx", Holds::Options, "c! p: --call! --package:"),
    row(
        "pandoc",
        Holds::Options,
        "F! fotrwHABVMTcD: --filter! --pdf-engine!",
    ),
    row(
        "rg",
        Holds::Options,
        "ABCeEfgjmMrtT: --pre! --hostname-bin!",
    ),
    row("rsync", Holds::Options, "e! fBTM@: --rsh!"),
    row("scp sftp", Holds::Options, "SFD! o? cibBJlPRsX:"),
    row(
        "sed",
        Holds::Sed,
        "nErsuz l: i= f% e@ --expression@ --file% --follow-symlinks --in-place --line-length: --null-data --posix --quiet --regexp-extended \
         --sandbox --separate --silent --unbuffered --zero-terminated",
    ),
    row("sort", Holds::Options, "koStT: --compress-program!"),
    row("split", Holds::Options, "abClnt: --filter!"),
    with_harmless(
        "ssh",
        Holds::Remote,
        "FI! o? BbcDEeiJLlmOpQRSWw:",
        "BatchMode Compression ConnectTimeout ConnectionAttempts ControlMaster ControlPath ControlPersist ForwardAgent \
         HostKeyAlgorithms IdentitiesOnly IdentityFile LogLevel Port PreferredAuthentications RequestTTY \
         ServerAliveCountMax ServerAliveInterval StrictHostKeyChecking User UserKnownHostsFile",
    ),
    row(
        "bsdtar tar",
        Holds::BundledOptions,
        "FI! bCfgKLNTVX: --checkpoint-action? --info-script! --new-volume-script! --rmt-command! --rsh-command! --to-command! \
         --use-compress-program!",
    ),
    row("tcpdump", Holds::Options, "z! BcCEFGijMrsTVwWyZ:"),
    row(
        "wget",
        Holds::Options,
        "e? aioOtTwQPUDARIXBln: --execute? --use-askpass!",
    ),
    row("zip", Holds::Options, "T! bint: --unzip-command!"),
];

static GIT_COMMANDS: [Holder; 12] = [
    row("archive", Holds::Options, "o: --exec!"),
    row("bisect", Holds::Behind("run"), ""),
    row(
        "submodule",
        Holds::Behind("foreach"),
        "q --quiet --recursive",
    ),
    with_harmless(
        "clone",
        Holds::Options,
        "u! c? bjo: --config? --template! --upload-pack!",
        GIT_SETTINGS,
    ),
    row("svn", Holds::Options, "--authors-prog!"),
    row("difftool", Holds::Options, "x! t: --extcmd!"),
    row(
        "fetch fetch-pack ls-remote pull",
        Holds::Options,
        "sXjo: --exec! --upload-pack!",
    ),
    row("grep", Holds::Options, "O! ABCefm: --open-files-in-pager!"),
    row(
        "push send-pack",
        Holds::Options,
        "o: --exec! --receive-pack!",
    ),
    row("rebase", Holds::Options, "x! CsX: --exec!"),
    row(
        "daemon difftool--helper filter-branch for-each-repo instaweb merge-index remote-ext remote-fd send-email shell \
         submodule--helper web--browse",
        Holds::Anything,
        "",
    ),
    with_harmless(
        "git",
        Holds::Operands(0),
        "hvpP C: c? --bare --glob-pathspecs --help --html-path --icase-pathspecs --info-path --literal-pathspecs --man-path \
         --no-advice --no-lazy-fetch --no-optional-locks --no-pager --no-replace-objects --noglob-pathspecs --paginate \
         --version --git-dir: --namespace: --work-tree: --config-env! --exec-path!",
        GIT_SETTINGS,
    ),
];
