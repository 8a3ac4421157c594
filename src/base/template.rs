//! Texts with named slots, such as prompts.

/// `template` with every `{{name}}` replaced by its value.
pub(crate) fn fill(template: &str, slots: &[(&str, &str)]) -> String {
    let mut out = template.trim_end().to_owned();
    for (name, value) in slots {
        out = out.replace(&format!("{{{{{name}}}}}"), value);
    }
    out
}
