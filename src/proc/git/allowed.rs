//! The settings that git may take from any configuration: data that start no program and expose no file outside.
//!
//! An allow-list, because git gets new settings with every release and tools add their own. Names are git's own in lower case; `*` matches a
//! subsection.

use crate::base::word_list::WordList;

/// Settings that every call overrides itself.
pub(super) const FIXED: [&str; 25] = [
    "core.quotePath=false",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.askPass=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "log.showSignature=false",
    // git in a submodule obeys that repository's configuration.
    "submodule.recurse=false",
    "diff.submodule=short",
    "status.submoduleSummary=false",
    // Garbage collection runs gc.recentObjectsHook, and would continue in the background; git before 2.29 knows only the first of these.
    "gc.auto=0",
    "gc.autoDetach=false",
    "maintenance.auto=false",
    "maintenance.autoDetach=false",
    // Several workers are several processes.
    "checkout.workers=1",
    // A transport that runs any command is never wanted.
    "protocol.ext.allow=never",
    // A server may name other addresses to fetch from.
    "transfer.bundleURI=false",
    // Results are plain text in one column.
    "color.ui=false",
    "blame.coloring=none",
    "column.ui=never",
    "column.branch=never",
    "column.status=never",
    // An identity guessed from the host name is useless, and comes with ten lines of advice.
    "user.useConfigOnly=true",
    "advice.addEmbeddedRepo=false",
];

/// Sections whose settings are all data.
const SECTIONS: WordList = WordList(
    "add advice apply attr author branch checkout clone commitgraph committer extensions feature \
     fetch fsck grep http i18n include includeif index log lsrefs maintenance notes pack pretty \
     promisor protocol pull push rebase reftable rerere safe sparse splitindex stash status \
     trace2 transfer url user versionsort",
);

/// Single settings that are data, in sections that also name programs or files.
const KEYS: WordList = WordList(
    "blame.blankboundary blame.date blame.markignoredlines blame.markunblamablelines \
     blame.showemail blame.showroot commit.cleanup commit.status commit.verbose core.abbrev \
     core.alternaterefsprefixes core.autocrlf core.bare core.bigfilethreshold \
     core.checkroundtripencoding core.checkstat core.commentchar core.commentstring \
     core.commitgraph core.compression core.createobject core.deltabasecachelimit core.eol \
     core.excludesfile core.filemode core.filesreflocktimeout core.fsmonitorhookversion \
     core.fsync core.fsyncmethod core.fsyncobjectfiles core.hidedotfiles core.ignorecase \
     core.ignorestat core.logallrefupdates core.longpaths core.loosecompression core.maxtreedepth \
     core.multipackindex core.notesref core.packedgitlimit core.packedgitwindowsize \
     core.packedrefstimeout core.precomposeunicode core.prefersymlinkrefs core.preloadindex \
     core.protecthfs core.protectntfs core.repositoryformatversion core.restrictinheritedhandles \
     core.safecrlf core.sharedrepository core.sparsecheckout core.sparsecheckoutcone \
     core.splitindex core.symlinks core.trustctime core.unsetenvvars core.untrackedcache \
     core.usereplacerefs core.warnambiguousrefs core.whitespace core.worktree diff.algorithm \
     diff.autorefreshindex diff.colormoved diff.colormovedws diff.context diff.dirstat \
     diff.dstprefix diff.ignoresubmodules diff.indentheuristic diff.interhunkcontext \
     diff.mnemonicprefix diff.noprefix diff.orderfile diff.relative diff.renamelimit diff.renames \
     diff.srcprefix diff.statgraphwidth diff.statnamewidth diff.suppressblankempty \
     diff.trustexitcode diff.wordregex diff.wserrorhighlight diff.*.algorithm diff.*.binary \
     diff.*.cachetextconv diff.*.wordregex diff.*.xfuncname format.encodeemailheaders \
     format.filenamemaxlength format.pretty gc.writecommitgraph init.defaultbranch \
     init.defaultobjectformat init.defaultrefformat mailmap.blob merge.autostash merge.branchdesc \
     merge.conflictstyle merge.defaulttoupstream merge.directoryrenames merge.ff merge.log \
     merge.renamelimit merge.renames merge.renormalize merge.stat merge.suppressdest \
     merge.verbosity remote.pushdefault remote.*.fetch remote.*.followremotehead remote.*.mirror \
     remote.*.partialclonefilter remote.*.promisor remote.*.prune remote.*.prunetags \
     remote.*.push remote.*.pushurl remote.*.tagopt remote.*.url submodule.propagatebranches \
     submodule.*.active submodule.*.branch submodule.*.ignore submodule.*.url",
);

/// Text files that git quotes when it cannot parse them: the user may name any, a repository none.
const USER_FILES: WordList = WordList("core.attributesfile mailmap.file");

/// How a clone reaches the network: the user's own choice (see [`super::clone`]), never a repository's.
const NETWORK: WordList = WordList(
    "core.sshcommand core.gitproxy credential ssh remote.*.proxy remote.*.proxyauthmethod",
);

/// The section and the variable of a setting, and whether there is a subsection between them.
fn parts(name: &[u8]) -> Option<(&str, bool, &str)> {
    let first = name.iter().position(|byte| *byte == b'.')?;
    let last = name.iter().rposition(|byte| *byte == b'.')?;
    let section = std::str::from_utf8(name.get(..first)?).ok()?;
    let variable = std::str::from_utf8(name.get(last + 1..)?).ok()?;
    Some((section, first != last, variable))
}

/// Whether `list` names the setting, by its section or in full.
fn names(list: WordList, name: &[u8]) -> bool {
    let Some((section, below, variable)) = parts(name) else {
        return false;
    };
    list.iter().any(|known| match known.split_once('.') {
        None => known.eq_ignore_ascii_case(section),
        Some((known, rest)) => {
            known.eq_ignore_ascii_case(section)
                && match (rest.strip_prefix("*."), below) {
                    (Some(rest), true) => rest.eq_ignore_ascii_case(variable),
                    (None, false) => rest.eq_ignore_ascii_case(variable),
                    (Some(_), false) | (None, true) => false,
                }
        }
    })
}

/// True when the setting is data, whoever wrote it.
pub(super) fn is_data(name: &[u8]) -> bool {
    names(SECTIONS, name) || names(KEYS, name)
}

/// True when a setting of a repository starts no program, even of a git that is not called as this one is: there it could also name further configuration, and
/// open a transport.
pub(in crate::proc) fn starts_nothing(name: &[u8]) -> bool {
    const OVERRIDDEN: WordList = WordList("include includeif protocol");
    let is_overridden = |section: &str| OVERRIDDEN.has(&section.to_ascii_lowercase());
    is_data(name) && parts(name).is_some_and(|(section, _, _)| !is_overridden(section))
}

/// True when the user may set it, but no repository may.
pub(super) fn is_user_setting(name: &[u8]) -> bool {
    names(USER_FILES, name)
}

/// True when it determines how the network is reached.
pub(super) fn is_network(name: &[u8]) -> bool {
    names(NETWORK, name)
}

/// True when every call sets it itself.
pub(super) fn is_fixed(name: &[u8]) -> bool {
    FIXED.iter().any(|setting| {
        let own = setting.split('=').next().unwrap_or_default();
        own.as_bytes().eq_ignore_ascii_case(name)
    })
}

/// The replacement of a setting that is not allowed. An empty program means none; a filter without a program must not be required either.
pub(super) fn replacement(name: &[u8]) -> &'static str {
    match parts(name) {
        Some(("color", false, _) | (_, _, "required")) => "false",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_data_settings_are_allowed() {
        for name in [
            "core.filemode",
            "extensions.objectformat",
            "remote.a.b=c.url",
            "branch.feature/x.y.merge",
            "user.name",
            "diff.rust.xfuncname",
            "url.https://x/?a=b.insteadof",
        ] {
            assert!(is_data(name.as_bytes()), "{name}");
        }
        for name in [
            "core.sshcommand",
            "core.attributesfile",
            "core.x.filemode",
            "filter.x.clean",
            "remote.origin.uploadpack",
            "remote.origin.vcs",
            "diff.external",
            "diff.x.textconv",
            "diff.*.textconv",
            "blame.ignorerevsfile",
            "gc.recentobjectshook",
            "unheard.of",
            "nonsense",
            "",
        ] {
            assert!(!is_data(name.as_bytes()), "{name}");
        }
        assert!(!is_data(b"fil\xffter.x.clean") && !is_data(b"core.\xff"));
        assert!(is_fixed(b"core.fsmonitor") && is_fixed(b"core.hookspath"));
        assert_eq!(replacement(b"color.status"), "false");
        assert_eq!(replacement(b"filter.x.required"), "false");
        assert_eq!(replacement(b"filter.x.clean"), "");
    }
}
