//! How much a sign-in asks for.

/// With it an authorization server gives a token that can be refreshed when the user is away (OpenID Connect Core 1.0 section 11).
pub(super) const OFFLINE: &str = "offline_access";

/// What can be asked for, and by whom it is named.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scopes<'a> {
    /// Of the refusal.
    pub challenge: Option<&'a str>,
    /// Of the configuration.
    pub configured: &'a [String],
    /// Of the server's metadata.
    pub resource: &'a [String],
    /// What was granted and is not enough.
    pub granted: Option<&'a str>,
    /// What the authorization server knows.
    pub known: &'a [String],
}

impl Scopes<'_> {
    /// The value of `scope`; none leaves it to the authorization server.
    pub(super) fn request(&self) -> Option<String> {
        let mut scopes: Vec<&str> = Vec::new();
        let mut add = |scope| {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        };
        let granted = self.granted.unwrap_or_default();
        granted.split_whitespace().for_each(&mut add);
        self.configured.iter().for_each(|scope| add(scope));
        match self.challenge {
            Some(challenge) => challenge.split_whitespace().for_each(&mut add),
            None if self.configured.is_empty() => self.resource.iter().for_each(|scope| add(scope)),
            None => {}
        }
        if scopes.is_empty() {
            return None;
        }
        if self.known.iter().any(|scope| scope == OFFLINE) && !scopes.contains(&OFFLINE) {
            scopes.push(OFFLINE);
        }
        Some(scopes.join(" "))
    }
}

/// Whether what was granted has all of what is wanted.
pub(super) fn covers(granted: &str, wanted: &str) -> bool {
    let granted: Vec<&str> = granted.split_whitespace().collect();
    wanted
        .split_whitespace()
        .all(|scope| granted.contains(&scope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_says_how_much_then_the_configuration_then_the_server() {
        let (configured, resource) = (["own".to_owned()], ["a".to_owned(), "b".to_owned()]);
        let all = Scopes {
            challenge: Some("x y"),
            configured: &configured,
            resource: &resource,
            ..Scopes::default()
        };
        let request = |scopes: Scopes<'_>| scopes.request().unwrap_or_default();
        assert_eq!(request(all), "own x y");
        let challenge = None;
        assert_eq!(request(Scopes { challenge, ..all }), "own");
        let configured = &[];
        let unset = Scopes {
            challenge,
            configured,
            ..all
        };
        assert_eq!(request(unset), "a b");
        let resource = &[];
        assert_eq!(Scopes { resource, ..unset }.request(), None);
    }

    #[test]
    fn scopes_widen_and_offline_access_is_asked_of_those_who_know_it() {
        let known = ["x".to_owned(), OFFLINE.to_owned()];
        let widened = Scopes {
            challenge: Some("x z"),
            granted: Some("x y"),
            ..Scopes::default()
        };
        assert_eq!(widened.request().unwrap(), "x y z");
        let known = Scopes {
            known: &known,
            ..widened
        };
        assert_eq!(known.request().unwrap(), "x y z offline_access");
        assert!(covers("a b", "b") && covers("a", "") && !covers("a b", "b c"));
    }
}
