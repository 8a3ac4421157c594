//! Where the choice of a model is kept: settings in `config.yaml`, keys each in a file of its own, and that somebody wants no model.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::base::problem::Outcome;
use crate::disk::atomic::{self, Access};
use crate::disk::paths::Paths;
use crate::disk::yaml;

/// The provider of servers of one's own, and the variables of their address and their key.
pub(super) const OWN_SERVER: &str = "openai-compat";
pub(super) const SERVER_URL: &str = "OPENAI_COMPAT_URL";
pub(super) const SERVER_KEY: &str = "OPENAI_COMPAT_API_KEY";

/// How long another Marvin may hold the settings.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// How much of the mark is read.
const MAX_MARK_BYTES: u64 = 100;

/// The file that keys of this name are read from, as people write it.
pub(super) fn key_place(variable: &str) -> String {
    format!("~/.ssh/{variable}")
}

/// Writes a key where keys are read from; only its owner can read it. Returns the file.
///
/// # Errors
/// There is no home folder, or the disk refuses.
pub(super) fn key(paths: &Paths, variable: &str, key: &str) -> Outcome<PathBuf> {
    let file = paths.home()?.join(".ssh").join(variable);
    atomic::write(&file, format!("{key}\n").as_bytes(), Access::Private)?;
    Ok(file)
}

/// Sets these settings for later sessions; the others and the comments stay.
///
/// # Errors
/// `config.yaml` cannot be understood or written.
pub(super) fn settings(paths: &Paths, settings: &[(String, String)]) -> Outcome<()> {
    let path = paths.settings()?;
    atomic::make_folder(paths.config()?, Access::Private)?;
    yaml::update_from(
        &path,
        LOCK_TIMEOUT,
        || Ok(String::new()),
        |keys| {
            for (name, value) in settings {
                keys.insert(name.clone(), Value::String(value.clone()));
            }
            Ok(())
        },
    )
}

/// True when the user chose to work without a model, and is not asked again at every start. A key or a server that is there later is used all the same.
pub(super) fn works_without(paths: &Paths) -> bool {
    let path = paths.no_model();
    let mark = path.and_then(|path| atomic::read(&path, MAX_MARK_BYTES));
    mark.is_ok_and(|mark| mark.is_some())
}

/// Remembers that.
///
/// # Errors
/// The file cannot be written.
pub(super) fn work_without(paths: &Paths) -> Outcome<()> {
    let text = b"Marvin works without a language model until one is set up; /model does that.\n";
    atomic::write(&paths.no_model()?, text, Access::Private)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_key_is_private_and_settings_keep_what_was_there() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::from([("HOME", home.path().to_str().unwrap())]);
        let paths = Paths::new(&env);
        let file = key(&paths, "OPENAI_API_KEY", "sk-1").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "sk-1\n");
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&file) & 0o777, 0o600);
        assert_eq!(mode(file.parent().unwrap()) & 0o777, 0o700);

        let config = paths.settings().unwrap();
        fs::create_dir_all(config.parent().unwrap()).unwrap();
        fs::write(&config, "# mine\nMARVIN_THEME: dark # as always\n").unwrap();
        let set = [("LLM_PROVIDER".to_owned(), "openai".to_owned())];
        settings(&paths, &set).unwrap();
        let text = fs::read_to_string(&config).unwrap();
        assert!(
            text.starts_with("# mine\nMARVIN_THEME: dark # as always\n"),
            "{text}"
        );
        assert!(text.contains("LLM_PROVIDER: openai"), "{text}");
        assert!(!works_without(&paths));
        work_without(&paths).unwrap();
        assert!(works_without(&paths));
    }
}
