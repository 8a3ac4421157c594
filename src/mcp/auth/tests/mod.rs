//! Sign-ins from the refusal to the token.

mod refresh;
mod world;

use serde_json::{Value, json};

use super::policy::SignInPolicy;
use crate::base::cancel::Cancel;
use crate::base::problem::ProblemKind;
use crate::mcp::client::credentials::Credentials as _;
use world::{HEADER, State, World, iss};

#[test]
fn a_refusal_leads_to_a_token_that_other_sessions_have_too() {
    let world = World::new(|state| {
        // Not the address itself, and without a slash behind it: as it is, byte for byte.
        state.resource_with = json!({"resource": state.server});
    });
    let session = world.session(world.console(), Value::Null);
    assert_eq!(world.ask(&session).unwrap(), 200);
    {
        let state = world.state.lock();
        let [visit] = state.visits.as_slice() else {
            panic!("{:?}", state.visits);
        };
        assert_eq!(
            (&visit["resource"], &*visit["scope"]),
            (&state.server, "read")
        );
        assert_eq!(&*visit["code_challenge_method"], "S256");
        let client = &state.clients[0];
        assert_eq!(
            *client,
            json!({"client_name": "Marvin", "application_type": "native", "redirect_uris": [visit["redirect_uri"]],
                "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"], "token_endpoint_auth_method": "none"})
        );
        assert!(state.shown.contains("sign in to tasks"), "{}", state.shown);
    }
    let other = world.session(SignInPolicy::Never, Value::Null);
    assert_eq!(world.ask(&other).unwrap(), 200);
    assert_eq!(world.asked("POST /token"), 1);
    assert!(world.file().contains("ACCESS-1"));
}

#[test]
fn metadata_are_found_wherever_a_revision_of_the_protocol_has_them() {
    type Change = fn(&mut State);
    const NONE: &str = "Bearer realm=\"x\"";
    let cases: [(&str, Change); 9] = [
        ("/.well-known/oauth-protected-resource/mcp", |state| {
            state.challenge = NONE;
        }),
        ("/.well-known/oauth-protected-resource", |state| {
            state.challenge = NONE;
        }),
        // The address in the challenge is wrong.
        ("/.well-known/oauth-protected-resource", |_| {}),
        ("/metadata", |state| {
            state.issuer_path = "/one/two";
            state.metadata_at = vec!["/.well-known/oauth-authorization-server/one/two"];
        }),
        ("/metadata", |state| {
            state.issuer_path = "/one/two";
            state.metadata_at = vec!["/.well-known/openid-configuration/one/two"];
        }),
        ("/metadata", |state| {
            state.issuer_path = "/one/two";
            state.metadata_at = vec!["/one/two/.well-known/openid-configuration"];
        }),
        ("/metadata", |state| {
            state.metadata_at = vec!["/.well-known/openid-configuration"];
        }),
        // As in 2025-03-26.
        ("", |state| {
            state.issuers[0] = state.server.clone();
            state.challenge = NONE;
        }),
        ("", |state| {
            state.issuers[0] = state.server.clone();
            state.metadata_at = vec![];
            state.challenge = NONE;
        }),
    ];
    for (number, (resource_at, change)) in cases.into_iter().enumerate() {
        let world = World::new(|state| {
            state.resource_at = vec![resource_at];
            change(state);
            if state.challenge == NONE {
                state.needs = String::new();
            }
        });
        let session = world.session(world.console(), Value::Null);
        assert_eq!(world.ask(&session).unwrap(), 200, "case {number}");
        let visit = &world.state.lock().visits[0];
        assert_eq!(
            visit.contains_key("resource"),
            !resource_at.is_empty(),
            "case {number}"
        );
    }
}

#[test]
fn a_server_that_is_not_what_it_says_gets_nothing() {
    type Change = fn(&mut State);
    let cases: [(&str, Change); 13] = [
        ("for \"https://evil.example/mcp\"", |state| {
            state.resource_with = json!({"resource": "https://evil.example/mcp"});
        }),
        ("for \"\"", |state| {
            state.resource_with = json!({"resource": null});
        }),
        ("says that it is", |state| {
            // Its metadata name the other one: a mix-up.
            state.metadata_with = json!({"issuer": state.issuers[1]});
        }),
        ("says that it is", |state| {
            state.metadata_with = json!({"issuer": format!("{}/", state.issuers[0])});
        }),
        ("PKCE", |state| {
            state.metadata_with = json!({"code_challenge_methods_supported": ["plain"]});
        }),
        ("not encrypted", |state| {
            state.metadata_with = json!({"token_endpoint": "http://as.example/token"});
        }),
        ("does not say how", |state| state.metadata_at = vec![]),
        ("does not come from", |state| {
            state.brings = iss("https://evil.example");
        }),
        ("does not come from", |state| {
            // The name of the other one is in the answer of the one that was asked.
            state.brings = iss(&state.issuers[1]);
        }),
        ("does not come from", |state| {
            state.metadata_with = json!({"authorization_response_iss_parameter_supported": true});
        }),
        ("Access was denied", |state| {
            state.brings = "denied".to_owned();
        }),
        ("private", |state| {
            state.resource_with = json!({"authorization_servers": ["https://10.1.2.3/"]});
        }),
        ("this machine", |state| {
            state.metadata_with = json!({"authorization_endpoint": "http://[::1]:631/authorize"});
        }),
    ];
    for (words, change) in cases {
        let world = World::new(change);
        let session = world.session(world.console(), Value::Null);
        let problem = world.ask(&session).unwrap_err();
        let text = problem.one_line();
        assert!(text.contains(words), "{words}: {text}");
        assert_eq!(world.asked("POST /token"), 0, "{words}");
        for secret in ["CODE-", "evil.example/?", "state="] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[test]
fn addresses_from_servers_do_not_lead_into_private_networks() {
    let world = World::new(|_| {});
    // The server itself was configured, so it is asked; the authorization server was not.
    let session = world.session_in(world.console(), Value::Null, "10.9.9.9");
    let problem = world.ask(&session).unwrap_err();
    assert!(
        problem.one_line().contains("MARVIN_ALLOW_PRIVATE"),
        "{problem}"
    );
    assert_eq!(world.asked("GET /metadata"), 1);
    assert_eq!(
        world.asked("GET /.well-known/oauth-authorization-server"),
        0
    );
}

#[test]
fn an_answer_of_the_token_endpoint_is_a_bearer_token_or_an_error_without_secrets() {
    for (with, words) in [
        (json!({"token_type": "DPoP"}), "another kind"),
        (json!({"access_token": null}), "there is none"),
        (json!({"access_token": "a b"}), "characters"),
    ] {
        let world = World::new(|state| state.token_with = with);
        let session = world.session(world.console(), Value::Null);
        let problem = world.ask(&session).unwrap_err().one_line();
        assert!(problem.contains(words), "{problem}");
        assert!(!world.file().contains("access_token"));
    }
    // The answer repeats the whole request.
    let world = World::new(|state| state.is_strict = true);
    let session = world.session(world.console(), Value::Null);
    let problem = world.ask(&session).unwrap_err().one_line();
    assert!(problem.contains("invalid_request"), "{problem}");
    let state = world.state.lock();
    let (_, form) = state
        .log
        .iter()
        .find(|(what, _)| what == "POST /token")
        .unwrap();
    for name in ["code", "code_verifier"] {
        assert!(!problem.contains(&world::form(form)[name]), "{problem}");
    }
}

#[test]
fn a_client_is_the_configured_one_a_document_or_registered() {
    let listed = |methods: Value| json!({"token_endpoint_auth_methods_supported": methods, "registration_endpoint": null});
    // "own id:own secret", each encoded as in a form.
    let basic = "Basic b3duJTIwaWQ6b3duJTIwc2VjcmV0";
    for (oauth, metadata, id, header) in [
        (
            json!({"clientId": "own id", "clientSecret": "own secret"}),
            listed(Value::Null),
            "own id",
            basic,
        ),
        (
            json!({"clientId": "own id", "clientSecret": "own secret"}),
            listed(json!(["private_key_jwt", "client_secret_post"])),
            "own id",
            "",
        ),
        (
            json!({"clientId": "own id"}),
            listed(json!(["none"])),
            "own id",
            "",
        ),
        (
            json!({"clientMetadataUrl": "https://me.example/client.json"}),
            json!({"client_id_metadata_document_supported": true}),
            "https://me.example/client.json",
            "",
        ),
        // The document is of no use there.
        (
            json!({"clientMetadataUrl": "https://me.example/client.json"}),
            json!({}),
            "client-0-1",
            "",
        ),
        // "client-0-1:client:secret", encoded.
        (
            Value::Null,
            json!({"token_endpoint_auth_methods_supported": ["client_secret_basic"]}),
            "client-0-1",
            "Basic Y2xpZW50LTAtMTpjbGllbnQlM0FzZWNyZXQ=",
        ),
    ] {
        let world = World::new(|state| state.metadata_with = metadata.clone());
        let session = world.session(world.console(), oauth);
        assert_eq!(world.ask(&session).unwrap(), 200, "{metadata}");
        let state = world.state.lock();
        assert_eq!(state.visits[0]["client_id"], id);
        assert_eq!(state.token_headers, [header]);
        let (_, form) = state
            .log
            .iter()
            .find(|(what, _)| what == "POST /token")
            .unwrap();
        let in_form = world::form(form);
        assert_eq!(in_form.contains_key("client_id"), header.is_empty());
        assert_eq!(
            in_form.contains_key("client_secret"),
            metadata.to_string().contains("post")
        );
    }
    let world = World::new(|state| state.metadata_with = listed(Value::Null));
    let session = world.session(world.console(), Value::Null);
    let problem = world.ask(&session).unwrap_err().one_line();
    assert!(problem.contains("\"clientId\""), "{problem}");
}

#[test]
fn a_new_issuer_means_a_new_registration_and_never_sees_the_client_of_the_old_one() {
    let world = World::new(|_| {});
    let session = world.session(world.console(), Value::Null);
    assert_eq!(world.ask(&session).unwrap(), 200);
    {
        let mut state = world.state.lock();
        state.which = 1;
        state.access.clear();
        state.refresh.clear();
    }
    assert_eq!(world.ask(&session).unwrap(), 200);
    let clients: Vec<String> = (world.state.lock().visits.iter())
        .map(|visit| visit["client_id"].clone())
        .collect();
    assert_eq!(clients, ["client-0-1", "client-1-2"]);

    // A configured client belongs to the issuer that it was first used with.
    let world = World::new(|_| {});
    let session = world.session(world.console(), json!({"clientId": "mine"}));
    assert_eq!(world.ask(&session).unwrap(), 200);
    world.state.lock().which = 1;
    world.state.lock().access.clear();
    world.state.lock().refresh.clear();
    let problem = world.ask(&session).unwrap_err().one_line();
    assert!(problem.contains("\"clientId\""), "{problem}");
    assert_eq!(world.state.lock().visits.len(), 1);
}

#[test]
fn a_registration_is_used_again_unless_its_port_is_taken() {
    let world = World::new(|state| state.has_refresh = false);
    let sign_in = || {
        world.state.lock().access.clear();
        let session = world.session(world.console(), Value::Null);
        assert_eq!(world.ask(&session).unwrap(), 200);
        let visit = world.state.lock().visits.last().unwrap().clone();
        (visit["client_id"].clone(), visit["redirect_uri"].clone())
    };
    let first = sign_in();
    assert_eq!(sign_in(), first);
    let port = first
        .1
        .trim_start_matches("http://127.0.0.1:")
        .trim_end_matches("/callback");
    let taken = std::net::TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    let second = sign_in();
    assert!(second.0 != first.0 && second.1 != first.1);
    drop(taken);
    assert_eq!(sign_in(), second);
}

#[test]
fn scopes_widen_step_by_step_and_not_for_ever() {
    let world = World::new(|state| {
        state.metadata_with = json!({"scopes_supported": ["read", "write", "offline_access"]});
    });
    let session = world.session(world.console(), Value::Null);
    assert_eq!(world.ask(&session).unwrap(), 200);
    world.state.lock().needs = "write".to_owned();
    assert_eq!(world.ask(&session).unwrap(), 200);
    let scopes: Vec<String> = (world.state.lock().visits.iter())
        .map(|visit| visit["scope"].clone())
        .collect();
    assert_eq!(scopes, ["read offline_access", "read offline_access write"]);

    let world = World::new(|state| state.grows = true);
    let session = world.session(world.console(), Value::Null);
    for visits in [1, 2, 3, 3] {
        let problem = world.ask(&session).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Auth);
        assert_eq!(world.state.lock().visits.len(), visits, "{problem}");
    }
}

#[test]
fn nobody_is_asked_where_that_is_not_wanted() {
    let world = World::new(|_| {});
    let session = world.session(SignInPolicy::Never, Value::Null);
    let problem = world.ask(&session).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Auth);
    assert!(
        problem.one_line().contains("marvin mcp login tasks"),
        "{problem}"
    );
    assert_eq!(world.state.lock().log.len(), 1);
    // What is no request to sign in is none.
    for (status, challenge) in [
        (403, "Bearer error=\"invalid_token\""),
        (403, "Basic realm=x"),
        (404, HEADER),
    ] {
        let challenge = [challenge.to_owned()];
        assert!(!session.refused(status, &challenge, &Cancel::new()).unwrap());
    }
}

#[test]
fn the_user_of_a_conversation_is_asked_first() {
    let world = World::new(|_| {});
    let session = world.session(world.questions(false), Value::Null);
    let problem = world.ask(&session).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Declined);
    assert_eq!(world.state.lock().shown, "tasks wants you to sign in.");
    let session = world.session(world.questions(true), Value::Null);
    assert_eq!(world.ask(&session).unwrap(), 200);
}

#[test]
fn the_address_at_which_the_browser_ended_can_be_pasted() {
    let world = World::new(|state| state.pastes = true);
    let session = world.session(world.console(), Value::Null);
    assert_eq!(world.ask(&session).unwrap(), 200);
    let shown = world.state.lock().shown.clone();
    // A code alone, and the answer to another sign-in.
    assert_eq!(
        shown.matches("This is not the address").count(),
        2,
        "{shown}"
    );
    assert!(shown.contains("paste its address here"), "{shown}");
}

#[test]
fn waiting_for_the_user_ends_when_they_leave() {
    let world = World::new(|state| state.brings = "nothing".to_owned());
    let session = world.session(world.console(), Value::Null);
    let stop = Cancel::new();
    let server = world.state.lock().server.clone();
    let challenges = [HEADER.replace("{server}", &server)];
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| session.refused(401, &challenges, &stop));
        while world.state.lock().visits.is_empty() {
            std::thread::yield_now();
        }
        stop.fire();
        assert!(asked.join().unwrap().unwrap_err().is_cancelled());
    });
}

#[test]
fn signing_out_revokes_and_forgets() {
    let world = World::new(|_| {});
    let session = world.session(world.console(), Value::Null);
    assert_eq!(world.ask(&session).unwrap(), 200);
    let (was_in, problem) = session.sign_out(&Cancel::new()).unwrap();
    assert!(was_in && problem.is_none());
    let (_, form) = world.state.lock().log.last().unwrap().clone();
    assert!(
        form.contains("token=REFRESH-1&token_type_hint=refresh_token"),
        "{form}"
    );
    assert!(!world.file().contains("ACCESS-1") && !world.file().contains("client-0-1"));
    let (was_in, _) = session.sign_out(&Cancel::new()).unwrap();
    assert!(!was_in);
}
