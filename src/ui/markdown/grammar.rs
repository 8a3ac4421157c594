//! Tables with the grammar of each language for the highlighter.

/// The grammar of a language, as far as colours need it.
pub(crate) struct Grammar {
    /// Names in a code fence; [`is_listed`] reads these lists.
    pub(super) names: &'static str,
    pub(super) keywords: &'static str,
    pub(super) constants: &'static str,
    /// Prefixes of line comments.
    pub(super) comments: &'static [&'static str],
    /// Delimiters of block comments.
    pub(super) block: Option<(&'static str, &'static str)>,
    /// A longer delimiter precedes its own prefixes.
    pub(super) quotes: &'static [Quote],
    pub(super) sort: SyntaxKind,
}

/// True when `word` is one of `words`, which are separated by spaces.
pub(super) fn is_listed(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|own| own == word)
}

/// A kind of string.
pub(super) struct Quote {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// A backslash escapes the next character.
    pub(super) escapes: bool,
    /// It may span lines.
    pub(super) long: bool,
}

/// How the lines of a language are tokenized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyntaxKind {
    /// Words, strings, comments.
    Code,
    /// The same with `'a` for lifetimes and `'x'` for characters.
    Ticks,
    /// The same with keywords in either case.
    AnyCase,
    /// `$name` is a variable.
    Dollar,
    /// The text before `:` or `=` is a key.
    Keys,
    Tags,
    /// Lines by their first character.
    Diff,
    /// No colours.
    None,
}

const fn quote(open: &'static str, close: &'static str, escapes: bool, long: bool) -> Quote {
    Quote {
        open,
        close,
        escapes,
        long,
    }
}

const DOUBLE: Quote = quote("\"", "\"", true, false);
const SINGLE: Quote = quote("'", "'", true, false);
const C_BLOCK: Option<(&str, &str)> = Some(("/*", "*/"));

/// For unknown languages.
pub(super) static NONE: Grammar = Grammar {
    names: "",
    keywords: "",
    constants: "",
    comments: &[],
    block: None,
    quotes: &[],
    sort: SyntaxKind::None,
};

#[rustfmt::skip]
pub(super) static ALL: &[Grammar] = &[
    Grammar {
        names: "rust rs",
        keywords: "as async await break const continue crate dyn else enum extern fn for if impl in let loop macro_rules match mod move mut pub ref \
            return self static struct super trait type union unsafe use where while yield",
        constants: "true false None Some Ok Err",
        comments: &["//"],
        block: C_BLOCK,
        quotes: &[quote("r##\"", "\"##", false, true), quote("r#\"", "\"#", false, true), quote("r\"", "\"", false, true), quote("\"", "\"", true, true), SINGLE],
        sort: SyntaxKind::Ticks,
    },
    Grammar {
        names: "python py python3 pycon gdscript",
        keywords: "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match \
            nonlocal not or pass raise return try while with yield",
        constants: "True False None self cls",
        comments: &["#"],
        block: None,
        quotes: &[quote("\"\"\"", "\"\"\"", true, true), quote("'''", "'''", true, true), DOUBLE, SINGLE],
        sort: SyntaxKind::Code,
    },
    Grammar {
        names: "javascript js jsx typescript ts tsx mjs node",
        keywords: "abstract as async await break case catch class const continue declare default delete do else enum export extends finally for from \
            function if implements import in instanceof interface keyof let namespace new of private protected public readonly return static \
            super switch this throw try type typeof var void while with yield",
        constants: "true false null undefined NaN Infinity",
        comments: &["//"],
        block: C_BLOCK,
        quotes: &[quote("`", "`", true, true), DOUBLE, SINGLE],
        sort: SyntaxKind::Code,
    },
    Grammar {
        names: "c h cpp c++ cc hpp cxx objc cuda",
        keywords: "alignas auto bool break case catch char class concept const constexpr continue default define delete do double else endif enum \
            explicit extern float for friend goto if ifdef ifndef include inline int long namespace new noexcept operator override private \
            protected public register return short signed sizeof static struct switch template this throw try typedef typename union unsigned \
            using virtual void volatile while",
        constants: "true false NULL nullptr",
        comments: &["//"],
        block: C_BLOCK,
        quotes: &[DOUBLE, SINGLE],
        sort: SyntaxKind::Code,
    },
    Grammar {
        names: "java kotlin kt csharp cs c# scala swift dart php groovy",
        keywords: "abstract as assert async await boolean break byte case catch char class const continue default do double echo else enum extends \
            extension final finally float for foreach fun func function guard if implements import in instanceof int interface internal is let \
            long namespace native new object override package private protected protocol public return sealed short static string struct super \
            switch this throw throws trait try using val var void volatile when while yield",
        constants: "true false null nil",
        comments: &["//"],
        block: C_BLOCK,
        quotes: &[quote("\"\"\"", "\"\"\"", false, true), DOUBLE, SINGLE],
        sort: SyntaxKind::Code,
    },
    Grammar {
        names: "go golang",
        keywords: "any bool break byte case chan const continue default defer else error fallthrough float64 for func go goto if import int int64 \
            interface map package range return rune select string struct switch type uint var",
        constants: "true false nil iota",
        comments: &["//"],
        block: C_BLOCK,
        quotes: &[quote("`", "`", false, true), DOUBLE, SINGLE],
        sort: SyntaxKind::Code,
    },
    Grammar {
        names: "bash sh shell zsh fish console shellsession dockerfile docker makefile make powershell just",
        keywords: "alias break case cd continue do done echo elif else esac eval exec exit export fi for function if in local read return set shift \
            source sudo test then trap unset until while ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM RUN USER WORKDIR",
        constants: "true false",
        comments: &["#"],
        block: None,
        quotes: &[quote("\"", "\"", true, true), quote("'", "'", false, true)],
        sort: SyntaxKind::Dollar,
    },
    Grammar {
        names: "json jsonc json5 jsonl ndjson",
        keywords: "",
        constants: "true false null",
        comments: &["//"],
        block: C_BLOCK,
        quotes: &[DOUBLE],
        sort: SyntaxKind::Keys,
    },
    Grammar {
        names: "yaml yml toml ini conf cfg properties env dotenv",
        keywords: "",
        constants: "true false null yes no on off",
        comments: &["#"],
        block: None,
        quotes: &[quote("\"\"\"", "\"\"\"", true, true), quote("'''", "'''", false, true), DOUBLE, quote("'", "'", false, false)],
        sort: SyntaxKind::Keys,
    },
    Grammar {
        names: "html xml svg vue svelte xhtml",
        keywords: "",
        constants: "",
        comments: &[],
        block: Some(("<!--", "-->")),
        quotes: &[quote("\"", "\"", false, true), quote("'", "'", false, true)],
        sort: SyntaxKind::Tags,
    },
    Grammar {
        names: "css scss less sass",
        keywords: "and charset font-face import important include keyframes media mixin not supports use",
        constants: "auto inherit initial none unset",
        comments: &[],
        block: C_BLOCK,
        quotes: &[DOUBLE, SINGLE],
        sort: SyntaxKind::Keys,
    },
    Grammar {
        names: "sql postgres postgresql mysql sqlite plsql",
        keywords: "add all alter and as asc begin between by case check column commit constraint create cross default delete desc distinct drop else \
            end except exists foreign from full group having if in index inner insert intersect into is join key left like limit not offset on \
            or order outer over partition primary references returning right rollback select set table then union unique update using values \
            view when where with",
        constants: "null true false",
        comments: &["--"],
        block: C_BLOCK,
        quotes: &[quote("'", "'", false, true), quote("\"", "\"", false, false), quote("`", "`", false, false)],
        sort: SyntaxKind::AnyCase,
    },
    Grammar {
        names: "diff patch",
        keywords: "",
        constants: "",
        comments: &[],
        block: None,
        quotes: &[],
        sort: SyntaxKind::Diff,
    },
];
