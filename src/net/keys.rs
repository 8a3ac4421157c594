//! API keys of services: from a variable, else from the file of that name in `~/.ssh/`.

use std::path::Path;

use crate::base::env::Env;
use crate::base::open;

/// A larger key file is ignored.
const MAX_KEY_FILE_BYTES: u64 = 16 * 1024;

/// The value of `variable`, else the content of the file of that name in `~/.ssh/`. Empty values are ignored.
pub(crate) fn find(env: &Env, variable: &str) -> Option<String> {
    let set = env.get(variable).map(|key| key.trim().to_owned());
    set.filter(|key| !key.is_empty())
        .or_else(|| in_file(env, variable))
}

/// The content of the file of that name in `~/.ssh/`.
pub(crate) fn in_file(env: &Env, variable: &str) -> Option<String> {
    let path = Path::new(env.get("HOME")?).join(".ssh").join(variable);
    let text = open::text(&path, MAX_KEY_FILE_BYTES).ok()?;
    let key = text.trim();
    (!key.is_empty()).then(|| key.to_owned())
}
