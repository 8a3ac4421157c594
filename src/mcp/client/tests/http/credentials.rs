//! Servers that want to know who asks.

use super::*;

/// A person who signs in for longer than a server may take to start.
struct SlowPerson(AtomicUsize);

const START_LIMIT: Duration = Duration::from_millis(600);

impl Credentials for SlowPerson {
    fn authorization(&self, _: &Cancel) -> Outcome<Option<String>> {
        Ok((self.0.load(Ordering::SeqCst) > 0).then(|| "Bearer t".to_owned()))
    }

    fn refused(&self, _: u16, _: &[String], _: &Cancel) -> Outcome<bool> {
        thread::sleep(START_LIMIT * 2);
        self.0.store(1, Ordering::SeqCst);
        Ok(true)
    }
}

#[test]
fn the_time_in_which_somebody_signs_in_is_no_part_of_a_start_limit() {
    for by_event_stream in [false, true] {
        let open: Arc<Mutex<Option<TcpStream>>> = Arc::default();
        let site = Site::new(move |request, message, stream| {
            if request.header("authorization").is_none() {
                return answer(stream, 401, "WWW-Authenticate: Bearer\r\n", "");
            }
            if request.method == "GET" {
                events(stream, "event: endpoint\ndata: /mcp\n\n");
                *open.lock().unwrap() = Some(stream.try_clone().unwrap());
                return;
            }
            if !by_event_stream {
                return result(stream, message, discovered());
            }
            answer(stream, 202, "", "Accepted");
            if message["method"] == "initialize" {
                let hello = json!({"protocolVersion": "2024-11-05", "capabilities": {}});
                let message = json!({"jsonrpc": "2.0", "id": message["id"], "result": hello});
                let told = format!("event: message\n{}", event(&message));
                let mut open = open.lock().unwrap();
                open.as_mut().unwrap().write_all(told.as_bytes()).unwrap();
            }
        });
        let reach = match by_event_stream {
            true => Reach::Sse(site.reach()),
            false => Reach::Http(site.reach()),
        };
        let host = ClientHost {
            credentials: Some(Arc::new(SlowPerson(AtomicUsize::new(0)))),
            ..host()
        };
        let connection = dial(&entry(reach), host);
        let stop = Cancel::new();
        let opened = connection.open(Wait::new(START_LIMIT, &stop));
        assert!(opened.is_ok(), "{by_event_stream}: {opened:?}");
    }
}

/// A token that has to be renewed once.
#[derive(Default)]
struct Token {
    renewed: AtomicUsize,
}

impl Credentials for Token {
    fn authorization(&self, _: &Cancel) -> Outcome<Option<String>> {
        let renewed = self.renewed.load(Ordering::SeqCst);
        Ok(Some(format!("Bearer t{renewed}")))
    }

    fn refused(&self, status: u16, challenges: &[String], _: &Cancel) -> Outcome<bool> {
        assert_eq!((status, challenges.len()), (401, 2));
        self.renewed.fetch_add(1, Ordering::SeqCst);
        Ok(true)
    }
}

#[test]
fn a_server_that_wants_a_token_gets_one_or_an_error_that_says_how() {
    let site = Site::new(
        |request, message, stream| match request.header("authorization") {
            Some("Bearer t1") => result(stream, message, discovered()),
            _ => answer(
                stream,
                401,
                "WWW-Authenticate: Basic\r\nWWW-Authenticate: Bearer resource_metadata=\"x\"\r\n",
                "",
            ),
        },
    );
    let problem = site.connect().open(wait(&Cancel::new())).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Auth);
    assert!(
        problem.one_line().contains("marvin mcp login calc"),
        "{problem}"
    );
    let signed_in = ClientHost {
        credentials: Some(Arc::new(Token::default())),
        ..host()
    };
    let reach = Reach::Http(site.reach());
    let facts = dial(&entry(reach), signed_in)
        .open(wait(&Cancel::new()))
        .unwrap();
    assert!(facts.is_modern);
    // The entry's own value is nobody else's business.
    let mut reach = site.reach();
    reach
        .headers
        .push(("authorization".to_owned(), "Bearer own".to_owned()));
    let own = ClientHost {
        credentials: Some(Arc::new(Token::default())),
        ..host()
    };
    let problem = dial(&entry(Reach::Http(reach)), own)
        .open(wait(&Cancel::new()))
        .unwrap_err();
    assert!(problem.what.contains("of its entry"), "{problem}");
}
