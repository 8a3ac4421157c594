//! Changes one key of a YAML text line by line, so that comments and everything else stay unchanged.
//!
//! Only the common form is supported, top-level keys at the start of a line; the caller parses the result and compares.

/// The text with the lines of `key` replaced by `lines` (`key: value` and its continuation, ending in a line break), or removed. A new key goes after its
/// commented-out line if there is one (`#key: …`), else to the end.
pub(crate) fn with(text: &str, key: &str, lines: Option<&str>) -> String {
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let new = lines.unwrap_or_default();
    let Some(first) = all.iter().position(|line| begins(line, key)) else {
        let example = all.iter().position(|line| {
            line.strip_prefix('#')
                .is_some_and(|line| begins(line.trim_start(), key))
        });
        let (before, after) = all.split_at(example.map_or(all.len(), |at| at + 1));
        let gap = if before.last().is_none_or(|line| line.ends_with('\n')) {
            ""
        } else {
            "\n"
        };
        return format!("{}{gap}{new}{}", before.concat(), after.concat());
    };
    let (before, rest) = all.split_at(first);
    let mut length = 1;
    for (index, line) in rest.iter().enumerate().skip(1) {
        let bare = line.trim();
        if bare.is_empty() || line.starts_with('#') {
            // A comment belongs to the value only if more of the value follows.
            continue;
        }
        if !line.starts_with([' ', '\t']) && bare != "-" && !line.starts_with("- ") {
            break;
        }
        length = index + 1;
    }
    let (old, after) = rest.split_at(length);
    let old = old.concat();
    let remark = if lines.is_some() && length == 1 {
        remark(old.trim_end())
    } else {
        None
    };
    let new = match (remark, new.strip_suffix('\n')) {
        (Some(remark), Some(line)) if !line.contains('\n') => format!("{line} {remark}\n"),
        (Some(remark), _) => format!("{remark}\n{new}"),
        (None, _) => new.to_owned(),
    };
    format!("{}{new}{}", before.concat(), after.concat())
}

/// True when the line is `key:` or `key: …`, the key bare or in quotes.
fn begins(line: &str, key: &str) -> bool {
    let after = [
        format!("{key}:"),
        format!("\"{key}\":"),
        format!("'{key}':"),
    ]
    .iter()
    .find_map(|start| line.strip_prefix(start.as_str()));
    after.is_some_and(|after| after.is_empty() || after.starts_with([' ', '\t', '\n', '\r']))
}

/// The comment at the end of a line; only found when no quotes precede it.
fn remark(line: &str) -> Option<&str> {
    let pos = line.find(" #")?;
    let (value, remark) = line.split_at(pos);
    (!value.contains(['"', '\''])).then(|| remark.trim())
}

#[cfg(test)]
mod tests {
    use super::with;

    const TEXT: &str = "# mine\n\ndiet:   # what I eat\n- a\n\n# more\n- b\nkm: 10 # far\n# about notes\nnotes: |\n  one\n\n  two\n#budget: any\nlast: \"x # y\"";

    #[test]
    fn only_the_lines_of_the_key_are_replaced() {
        for (key, lines, from, to) in [
            ("km", Some("km: 5\n"), "km: 10 # far", "km: 5 # far"),
            (
                "diet",
                Some("diet:\n- c\n"),
                "diet:   # what I eat\n- a\n\n# more\n- b\n",
                "diet:\n- c\n",
            ),
            ("notes", None, "notes: |\n  one\n\n  two\n", ""),
            ("last", Some("last: z\n"), "last: \"x # y\"", "last: z\n"),
        ] {
            assert!(TEXT.contains(from), "{key}");
            assert_eq!(with(TEXT, key, lines), TEXT.replace(from, to), "{key}");
        }
    }

    #[test]
    fn a_new_key_goes_to_its_example_or_to_the_end() {
        let example = "#budget: any\n";
        let after_example = TEXT.replace(example, "#budget: any\nbudget: free\n");
        assert_eq!(with(TEXT, "budget", Some("budget: free\n")), after_example);
        assert_eq!(
            with(TEXT, "not", Some("not: 1\n")),
            format!("{TEXT}\nnot: 1\n")
        );
        assert_eq!(with("", "a", Some("a: 1\n")), "a: 1\n");
        assert_eq!(with(TEXT, "nothing", None), format!("{TEXT}\n"));
    }
}
