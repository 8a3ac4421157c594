//! Keys of services: a variable, else a file of its name under `~/.ssh/`.

use std::path::Path;

use crate::base::env::Env;
use crate::base::open;

/// Bytes of a key file at most; a longer one is ignored.
const MAX_KEY_FILE_BYTES: u64 = 16 * 1024;

/// The value of `variable`, else the text of the file of that name under `~/.ssh/`; an empty one is ignored.
pub(crate) fn find(env: &Env, variable: &str) -> Option<String> {
    let set = env.get(variable).map(|key| key.trim().to_owned());
    set.filter(|key| !key.is_empty())
        .or_else(|| in_file(env, variable))
}

/// The text of the file of that name under `~/.ssh/`.
pub(crate) fn in_file(env: &Env, variable: &str) -> Option<String> {
    let path = Path::new(env.get("HOME")?).join(".ssh").join(variable);
    let text = open::text(&path, MAX_KEY_FILE_BYTES).ok()?;
    let key = text.trim();
    (!key.is_empty()).then(|| key.to_owned())
}
