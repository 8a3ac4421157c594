//! Feeds as found in practice: every kind, and their common defects. All written for these tests.

use proptest::prelude::*;

use super::*;

fn home() -> Address {
    Address::parse("https://site.test/blog/feed.xml").unwrap()
}

fn parsed(text: &str) -> Feed {
    read(text.as_bytes(), "text/html", &home(), 20)
        .unwrap_or_else(|reason| panic!("{reason:?}: {text}"))
}

/// The one entry of an RSS 2.0 feed with this inside its item.
fn item(inside: &str) -> FeedEntry {
    let feed = parsed(&format!(
        "<rss version='2.0' xmlns:atom='http://www.w3.org/2005/Atom' xmlns:media='http://search.yahoo.com/mrss/'\
         xmlns:content='http://purl.org/rss/1.0/modules/content/' xmlns:i='http://www.itunes.com/dtds/podcast-1.0.dtd'>\
         <channel><title>F</title><item>{inside}</item></channel></rss>"
    ));
    assert_eq!(feed.entries.len(), 1, "{inside}");
    feed.entries.into_iter().next().unwrap()
}

fn atom(inside: &str) -> FeedEntry {
    let feed = parsed(&format!(
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>F</title><entry>{inside}</entry></feed>"
    ));
    assert_eq!((feed.entries.len(), feed.note), (1, None), "{inside}");
    feed.entries.into_iter().next().unwrap()
}

fn link(entry: &FeedEntry) -> &str {
    entry.link.as_deref().unwrap_or("none")
}

#[test]
fn the_root_tells_the_kind() {
    let wanted = |feed: &Feed, link: &str| {
        assert_eq!(
            (feed.title.as_str(), feed.count, feed.note),
            ("News", 2, None)
        );
        assert_eq!(feed.link.as_deref(), Some("https://n.test/"));
        let entries: Vec<_> = feed
            .entries
            .iter()
            .map(|e| {
                (
                    e.title.as_str(),
                    e.date.as_str(),
                    e.summary.as_str(),
                    self::link(e),
                )
            })
            .collect();
        assert_eq!(
            entries,
            [
                ("One", "2026-05-01 10:00 UTC", "First & best", link),
                ("Two", "", "", "https://n.test/2")
            ]
        );
    };
    let rss = "<?xml version='1.0'?><rss version='0.91'><channel><title>News</title><link>https://n.test/</link>\
        <image><title>Logo</title><link>https://n.test/logo</link></image>\
        <textInput><title>Search</title></textInput>\
        <item><title>One</title><link>https://n.test/1</link><pubDate>Fri, 01 May 2026 10:00:00 GMT</pubDate>\
        <description>First &amp;amp; best</description></item>\
        <item><title>Two</title><link>https://n.test/2</link></item></channel></rss>";
    wanted(&parsed(rss), "https://n.test/1");
    let rdf = "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/' \
        xmlns:dc='http://purl.org/dc/elements/1.1/'><channel rdf:about='https://n.test/rdf'><title>News</title>\
        <link>https://n.test/</link><dc:date>2020-01-01</dc:date><items><rdf:Seq><rdf:li resource='x'/></rdf:Seq></items></channel>\
        <image rdf:about='i'><title>Logo</title></image>\
        <item rdf:about='https://n.test/1'><dc:date>2026-05-01T10:00:00Z</dc:date><title>One</title>\
        <description>First &amp;amp; best</description></item>\
        <item rdf:about='https://n.test/x'><title>Two</title><link>https://n.test/2</link></item></rdf:RDF>";
    wanted(&parsed(rdf), "https://n.test/1");
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><title>News</title><link rel='self' href='https://n.test/self'/>\
        <link href='https://n.test/'/><entry><title>One</title><link href='https://n.test/1'/>\
        <updated>2026-05-02T10:00:00Z</updated><published>2026-05-01T10:00:00Z</published>\
        <summary type='html'>First &amp;amp; best</summary></entry>\
        <entry><title>Two</title><link href='https://n.test/2' rel='alternate'></link></entry></feed>";
    wanted(&parsed(atom), "https://n.test/1");
    let prefixed = atom
        .replace("</", "</a:")
        .replace('<', "<a:")
        .replace("<a:/a:", "</a:")
        .replace("xmlns=", "xmlns:a=");
    wanted(&parsed(&prefixed), "https://n.test/1");
    let undeclared = atom.replace(" xmlns='http://www.w3.org/2005/Atom'", "");
    wanted(&parsed(&undeclared), "https://n.test/1");
    let odd = rss.replace("<rss ", "<rss xmlns='http://example.org/whatever' ");
    wanted(&parsed(&odd), "https://n.test/1");
}

#[test]
fn other_vocabularies_do_not_give_the_title() {
    let entry = item(
        "<media:title>M</media:title><i:title>I</i:title><image><title>L</title></image>\
         <source url='x'><title>S</title></source><title>T</title><author><name>N</name></author>",
    );
    assert_eq!(entry.title, "T");
    assert_eq!(
        item("<media:title>M</media:title><link>https://x.test/</link>").title,
        ""
    );
    let foreign = item("<title xmlns='http://search.yahoo.com/mrss/'>M</title><title>T</title>");
    assert_eq!(foreign.title, "T");
}

#[test]
fn the_link_is_the_page_of_the_entry() {
    for (inside, wanted) in [
        ("<link>\n https://x.test/1 \n</link>", "https://x.test/1"),
        (
            "<link/><guid isPermaLink='true'>https://x.test/g</guid>",
            "https://x.test/g",
        ),
        (
            "<link></link><guid>https://x.test/g</guid>",
            "https://x.test/g",
        ),
        ("<guid isPermaLink='false'>https://x.test/g</guid>", "none"),
        ("<guid>urn:1</guid>", "none"),
        (
            "<atom:link rel='self' href='https://x.test/s'/><link>https://x.test/1</link>",
            "https://x.test/1",
        ),
        ("<atom:link href='https://x.test/a'/>", "https://x.test/a"),
        (
            "<enclosure url='https://x.test/a.mp3' length='1'/>",
            "https://x.test/a.mp3",
        ),
        (
            "<link>https://x.test/?a=1&amp;b=2#c</link>",
            "https://x.test/?a=1&b=2#c",
        ),
        (
            "<link><![CDATA[https://x.test/?a=1&b=2]]></link>",
            "https://x.test/?a=1&b=2",
        ),
        (
            "<link>https://x.test/?a=1&b=2</link>",
            "https://x.test/?a=1&b=2",
        ),
        ("<link>/one</link>", "https://site.test/one"),
        ("<link>one</link>", "https://site.test/blog/one"),
        ("<link>javascript:alert(1)</link>", "none"),
        (
            "<link>magnet:?xt=urn:btih:1</link>",
            "magnet:?xt=urn:btih:1",
        ),
        ("<link>https://x.test/a b</link>", "https://x.test/a%20b"),
    ] {
        assert_eq!(link(&item(inside)), wanted, "{inside}");
    }
    for (inside, wanted) in [
        (
            "<link rel='self' href='/s'/><link rel='enclosure' href='/e'/><link rel='replies' href='/r'/><link rel='alternate' href='https://x.test/a'/>",
            "https://x.test/a",
        ),
        (
            "<link rel='self' href='/s'/><link rel='edit' href='/e'/>",
            "none",
        ),
        (
            "<link rel='related' href='https://x.test/r'/><id>tag:x,1</id>",
            "https://x.test/r",
        ),
        ("<id>https://x.test/id</id>", "https://x.test/id"),
        (
            "<content type='image/png' src='https://x.test/p.png'/>",
            "https://x.test/p.png",
        ),
        (
            "<link href='https://x.test/?a=1&amp;b=2'/>",
            "https://x.test/?a=1&b=2",
        ),
    ] {
        assert_eq!(link(&atom(inside)), wanted, "{inside}");
    }
}

#[test]
fn relative_links_have_a_base() {
    let feed = parsed(
        "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='https://b.test/x/'><link href='home'/>\
         <entry xml:base='y/'><link href='1#c'/></entry><entry><link href='/2'/></entry>\
         <entry><link xml:base='//c.test/z/' href='../3'/></entry></feed>",
    );
    let links: Vec<&str> = feed.entries.iter().map(link).collect();
    assert_eq!(feed.link.as_deref(), Some("https://b.test/x/home"));
    assert_eq!(
        links,
        [
            "https://b.test/x/y/1#c",
            "https://b.test/2",
            "https://c.test/3"
        ]
    );
    let feed = parsed(
        "<rss><channel><item><link>1</link></item><link>//own.test/sub/</link><item><link>/2</link></item></channel></rss>",
    );
    let links: Vec<&str> = feed.entries.iter().map(link).collect();
    assert_eq!(links, ["https://own.test/sub/1", "https://own.test/2"]);
}

#[test]
fn text_is_decoded_once_as_xml_and_once_as_html() {
    for (inside, wanted) in [
        (
            "<description>&lt;figure&gt;&lt;img src=x&gt;&lt;/figure&gt;&lt;p&gt;a &amp;amp; b&lt;/p&gt;</description>",
            "a & b",
        ),
        (
            "<description><![CDATA[<p>a &lt; b</p><script>no()</script>]]></description>",
            "a < b",
        ),
        (
            "<description>one<![CDATA[ <b>two</b> ]]>three</description>",
            "one two three",
        ),
        (
            "<description><p>raw &amp; <br/>markup</p></description>",
            "raw & markup",
        ),
        (
            "<description>caf&eacute; &#8217; &#x2014; &nbsp;x &unknown;</description>",
            "café ’ — x &unknown;",
        ),
        ("<description>&amp;lt;T&amp;gt;</description>", "<T>"),
        (
            "<description/><content:encoded><![CDATA[<p>long</p>]]></content:encoded>",
            "long",
        ),
        (
            "<content:encoded>long</content:encoded><description>short</description>",
            "short",
        ),
        ("<i:summary>podcast</i:summary>", "podcast"),
        (
            "<media:group><media:description>video</media:description></media:group>",
            "video",
        ),
        ("<description>a\u{1b}[31mred</description>", "a[31mred"),
    ] {
        assert_eq!(item(inside).summary, wanted, "{inside}");
    }
    for (inside, wanted) in [
        (
            "<summary>a &lt;b&gt; &amp;amp; c</summary>",
            "a <b> &amp; c",
        ),
        ("<summary type='text'>1 &lt; 2</summary>", "1 < 2"),
        (
            "<summary type='html'>&lt;b&gt;bold&lt;/b&gt; &amp;amp; c</summary>",
            "bold & c",
        ),
        (
            "<summary type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><p>a &lt; <b>b</b></p></div></summary>",
            "a < b",
        ),
        ("<content type='html'>&lt;p&gt;c&lt;/p&gt;</content>", "c"),
        (
            "<content type='image/png' mode='base64'>aGVsbG8=</content>",
            "",
        ),
        (
            "<content type='text/html' mode='escaped'>&lt;i&gt;old&lt;/i&gt;</content>",
            "old",
        ),
    ] {
        assert_eq!(atom(inside).summary, wanted, "{inside}");
    }
}

#[test]
fn the_charset_comes_from_header_mark_or_declaration() {
    let body = |declared: &str| {
        format!(
            "<?xml version='1.0' encoding='{declared}'?><rss><channel><title>caf\u{e9}</title></channel></rss>"
        )
    };
    let latin = |text: &str| -> Vec<u8> { text.chars().map(|c| c as u8).collect() };
    let title = |bytes: &[u8], kind: &str| read(bytes, kind, &home(), 5).unwrap().title;
    assert_eq!(title(&latin(&body("ISO-8859-1")), "text/xml"), "café");
    assert_eq!(
        title(&latin(&body("utf-8")), "text/xml; charset=iso-8859-1"),
        "café"
    );
    assert_eq!(title(&latin(&body("nothing")), "text/xml"), "caf\u{fffd}");
    assert_eq!(
        title(body("windows-1252").as_bytes(), "text/xml; charset=utf-8"),
        "café"
    );
    let marked = [b"\xef\xbb\xbf".as_slice(), body("ISO-8859-1").as_bytes()].concat();
    assert_eq!(title(&marked, ""), "café");
    // A header that contradicts the bytes is wrong; one that they confirm is right, whatever the mark says.
    assert_eq!(title(&marked, "text/xml; charset=latin1"), "café");
    let false_mark = [b"\xef\xbb\xbf".to_vec(), latin(&body("utf-8"))].concat();
    assert_eq!(title(&false_mark, "text/xml; charset=latin1"), "café");
    assert_eq!(title(&false_mark, ""), "caf\u{fffd}");
    let junk = [
        b"\n\n<br />Warning: x\n".to_vec(),
        latin(&body("windows-1252")),
    ]
    .concat();
    assert_eq!(title(&junk, ""), "café");
    for little in [true, false] {
        let wide = |c: u16| {
            if little {
                c.to_le_bytes()
            } else {
                c.to_be_bytes()
            }
        };
        let bytes: Vec<u8> = body("utf-16").encode_utf16().flat_map(wide).collect();
        assert_eq!(title(&bytes, "application/xml"), "café");
        let marked: Vec<u8> = wide(0xfeff).into_iter().chain(bytes).collect();
        assert_eq!(title(&marked, "application/xml"), "café");
    }
}

#[test]
fn the_readable_part_of_a_broken_feed_comes_with_a_note() {
    let whole = "<rss><channel><title>F</title><item><title>One</title><link>https://x.test/1</link></item>\
        <item><title>Two</title><link>https://x.test/2</link></item></channel></rss>";
    let titles = |feed: &Feed| {
        feed.entries
            .iter()
            .map(|e| e.title.clone())
            .collect::<Vec<_>>()
            .join(",")
    };
    let cut = |at: &str| parsed(whole.split_once(at).unwrap().0);
    for (at, wanted) in [
        ("</channel>", "One,Two"),
        ("ink>https://x.test/2", "One,Two"),
        ("wo</title>", "One"),
        ("itle>Two", "One"),
        ("/2</link>", "One,Two"),
    ] {
        let feed = cut(at);
        assert_eq!(
            (titles(&feed).as_str(), feed.note),
            (wanted, Some(walk::CUT_NOTE)),
            "{at}"
        );
        assert_eq!(feed.count, feed.entries.len());
    }
    let cases = [
        whole.replace("One", "O & n &e"),
        whole.replace("One", "On\u{1}e"),
        whole.replace("One", "1 < 2 <3"),
        whole.replace(
            "</title><link>https://x.test/1",
            "</titel><link>https://x.test/1",
        ),
        whole.replace("/1</link></item>", "/1</link>"),
        whole.replace(
            "One</title>",
            "One</title><description><p>a<br>b</description>",
        ),
        whole.replace(
            "https://x.test/1</link>",
            "https://x.test/1</link><a b='c></a>",
        ),
        whole.replace("One</title>", "One</title><!-- never closed"),
        whole.replace("One</title>", "One</title></b></i>"),
    ];
    for text in cases {
        let feed = parsed(&text);
        assert!(feed.note.is_some() || text.contains("<br>"), "{text}");
        assert!(titles(&feed).ends_with("Two"), "{text}: {feed:?}");
    }
    assert_eq!(
        parsed(&whole.replace("One", "AT&T &co; a & b")).entries[0].title,
        "AT&T &co; a & b"
    );
    assert_eq!(
        parsed(&whole.replace("One", "1 < 2")).entries[0].title,
        "1 < 2"
    );
    let unclosed = parsed(&whole.replace(
        "One</title>",
        "One</title><description><p>a<br>b</description>",
    ));
    assert_eq!(
        (
            unclosed.entries[0].summary.as_str(),
            link(&unclosed.entries[0])
        ),
        ("a b", "https://x.test/1")
    );
}

#[test]
fn what_is_no_feed_says_what_it_is() {
    let none = |text: &str| read(text.as_bytes(), "application/rss+xml", &home(), 5).unwrap_err();
    assert_eq!(
        none("<rss><channel><title>F</title><description>cut"),
        NoFeed::Broken
    );
    assert_eq!(
        none("<opml version='2.0'><body/></opml>"),
        NoFeed::Other("opml".to_owned())
    );
    for text in ["", "  ", "{\"version\": 1}", "plain", "\u{0}\u{1}"] {
        assert_eq!(none(text), NoFeed::Unreadable, "{text}");
    }
    assert_eq!(
        none("<!DOCTYPE html><html><p>x</html>"),
        NoFeed::Page(Vec::new())
    );
    let NoFeed::Page(named) = none(
        "<!doctype html><head><base href='https://b.test/d/'><link rel=stylesheet type=text/css href=s.css>\
         <LINK REL='Alternate home' TYPE='application/RSS+XML' HREF='feed?a=1&amp;b=2' TITLE='The  feed'>\
         <link rel=alternate type='application/atom+xml; charset=utf-8' href=/atom><link rel=alternate type='application/atom+xml' href=/atom>\
         <link rel=alternate type=application/rss+xml href='javascript:x'><link rel=alternate hreflang=de href=/de></head>",
    ) else {
        panic!("no page");
    };
    let named: Vec<_> = named
        .iter()
        .map(|n| (n.url.as_str(), n.title.as_str()))
        .collect();
    assert_eq!(
        named,
        [
            ("https://b.test/d/feed?a=1&b=2", "The feed"),
            ("https://b.test/atom", "")
        ]
    );
    let empty = parsed("<rss><channel><title>F</title></channel></rss>");
    assert_eq!((empty.count, empty.note), (0, None));
}

#[test]
fn entities_of_a_document_are_never_expanded_nor_fetched() {
    let feed = parsed(
        "<?xml version='1.0'?><!DOCTYPE rss [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'><!ENTITY x SYSTEM 'file:///etc/passwd'>]>\
         <rss><channel><title>F</title><item><title>&b;&x;</title><description>ok</description></item></channel></rss>",
    );
    assert_eq!(feed.entries[0].title, "&b;&x;");
}

#[test]
fn only_the_first_entries_are_read_and_all_are_counted() {
    let many = format!(
        "<rss><channel>{}</channel></rss>",
        "<item><title>T</title></item>".repeat(50)
    );
    let feed = read(many.as_bytes(), "", &home(), 3).unwrap();
    assert_eq!((feed.entries.len(), feed.count), (3, 50));
}

#[test]
fn large_and_deep_documents_parse_quickly() {
    let begun = crate::base::cpu_time::CpuTime::now();
    for text in [
        format!("<rss><channel><item><title>{}", "<a>".repeat(200_000)),
        format!("<rss>{}{}", "<a>".repeat(50_000), "</b>".repeat(50_000)),
        format!("<rss>{}", "<a xmlns:x='y' xml:base='z'>".repeat(30_000)),
        format!(
            "<rss {}>{}",
            (0..20_000)
                .map(|n| format!("xmlns:a{n}='b' "))
                .collect::<String>(),
            "<q:a/>".repeat(50_000)
        ),
        format!("<rss><channel><item><title>{}", "< ".repeat(100_000)),
        format!("<rss><channel><item>{}", "<![CDATA[".repeat(200_000)),
        format!("<rss><channel>{}", "<item><!-".repeat(200_000)),
        format!("<rss><channel><item><title>{}", "&#8217;".repeat(100_000)),
        "<rss ".repeat(50_000),
        "<".repeat(100_000),
    ] {
        let _ = read(text.as_bytes(), "", &home(), 20);
    }
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}

fn piece() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "<rss>",
        "<channel>",
        "<item>",
        "</item>",
        "<title>",
        "</title>",
        "<link>",
        "</link>",
        "<feed xmlns='http://www.w3.org/2005/Atom'>",
        "<entry>",
        "</entry>",
        "<link href='x'/>",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "&amp;",
        "&",
        "<",
        "<!DOCTYPE x [",
        "]>",
        "<?xml version='1.0'?>",
        "<summary type='xhtml'>",
        "</summary>",
        "<rdf:RDF>",
        "xml:base='y'",
        "<a:title xmlns:a='b'>",
        "<pubDate>",
        "</pubDate>",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => "\\PC{0,6}", 1 => "[a-z:<>/&;='\" ]{0,8}"]
}

proptest! {
    #[test]
    fn damaged_feeds_never_panic(pieces in prop::collection::vec(piece(), 0..40), kind in "[a-z/;=0-9-]{0,30}") {
        let text = pieces.concat();
        if let Ok(feed) = read(text.as_bytes(), &kind, &home(), 5) {
            prop_assert!(feed.entries.len() <= feed.count.min(5), "{:?}", feed);
            for entry in &feed.entries {
                for line in [&entry.title, &entry.summary, &entry.date] {
                    prop_assert!(!line.contains(char::is_control), "{}", line);
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_accepted(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes, "", &home(), 5);
    }

    #[test]
    fn a_well_formed_feed_is_read_back(titles in prop::collection::vec("[a-zA-Z0-9&<>é'\" ]{1,20}", 1..6)) {
        let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let entries: String = titles.iter().map(|t| format!("<entry><title>{}</title></entry>", escaped(t))).collect();
        let feed = parsed(&format!("<feed xmlns='http://www.w3.org/2005/Atom'>{entries}</feed>"));
        let found: Vec<String> = feed.entries.into_iter().map(|entry| entry.title).collect();
        let wanted: Vec<String> = titles.iter().map(|t| t.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        prop_assert_eq!(found, wanted);
        prop_assert_eq!(feed.note, None);
    }
}
