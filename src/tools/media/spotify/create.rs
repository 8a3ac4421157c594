//! `spotify_create_playlist`.

use serde_json::json;

use super::SpotifyCreatePlaylist;
use super::api::{Api, web};
use super::search::SERVICE_TIMEOUT;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, single_spaced};
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::name;

/// Maximum characters of a name and of a description (the service's own limits).
const MAX_NAME_CHARS: usize = 100;
const ABOUT: usize = 300;

/// Creates a playlist.
///
/// # Errors
/// No name; errors of Spotify.
pub(super) fn create(ctx: &ToolContext, args: SpotifyCreatePlaylist) -> Outcome<String> {
    let line = |text: &str| single_spaced(text);
    let (title, about) = (line(&args.name), line(&args.description));
    if title.is_empty() {
        return Err(Problem::input("The playlist has no name.").next("For example: Road trip"));
    }
    for (what, text, max) in [
        ("name", &title, MAX_NAME_CHARS),
        ("description", &about, ABOUT),
    ] {
        let count = text.chars().count();
        if count > max {
            return Err(Problem::input(format!(
                "The {what} has {count} characters; the limit is {max}."
            )));
        }
    }
    let mut body = json!({"name": title, "public": args.public});
    if let Some(body) = body.as_object_mut().filter(|_| !about.is_empty()) {
        body.insert("description".to_owned(), about.into());
    }
    let made = Api::open(ctx, SERVICE_TIMEOUT)?
        .max_wait(std::time::Duration::from_secs(6))
        .send(&|ask| ask.path("/me/playlists").without_retry().json(&body))?;
    let id = name(&made, "id").ok_or_else(|| {
        Problem::network("Spotify answered without the new playlist's id.")
            .next("Look in Spotify whether it is there.")
    })?;
    let seen = match made
        .at("public")
        .and_then(serde_json::Value::as_bool)
        .unwrap_or(args.public)
    {
        true => "public",
        false => "private",
    };
    let link = web(&made).map_or_else(String::new, |link| format!("\nLink: {link}"));
    let title = name(&made, "name").unwrap_or_else(|| clip(&escape_controls(&title), 300));
    Ok(format!(
        "Playlist \"{title}\" created, {seen}.\nId: {id}{link}"
    ))
}
