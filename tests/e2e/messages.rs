//! Messages to a real HTTP receiver: what is wrong with a daemon arrives once, also that it is gone; a receiver that
//! fails is tried again; the URL is seen nowhere.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use toml::Table;

use crate::support::message::Message;
use crate::support::process::run;
use crate::support::stage::quick;
use crate::support::{Edit, Program, Stage, until};

const SOON: Duration = Duration::from_mins(1);
/// The part of a URL that a service would know us by.
const SECRET: &str = "T0KEN-canary-5f1d";

/// Bodies that arrived, with their paths.
#[derive(Clone, Default)]
struct Receiver {
    bodies: Arc<Mutex<Vec<(String, Value)>>>,
    /// Answers before those with 200.
    failures: Arc<Mutex<Vec<u16>>>,
}

impl Receiver {
    fn listen(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let receiver = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                receiver.serve(stream.unwrap());
            }
        });
        format!("http://{address}")
    }

    fn serve(&self, stream: TcpStream) {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Ok(Some(request)) = Message::read(&mut reader) {
            let next = self.failures.lock().unwrap().pop();
            let status = next.unwrap_or(200);
            if status == 200 {
                let path = request.head[0].split(' ').nth(1).unwrap().to_owned();
                let body = serde_json::from_slice(&request.body).unwrap();
                self.bodies.lock().unwrap().push((path, body));
            }
            let answer = format!("HTTP/1.1 {status} So\r\ncontent-length: 0\r\n\r\n");
            if writer.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn bodies(&self) -> Vec<(String, Value)> {
        self.bodies.lock().unwrap().clone()
    }

    /// Conditions that arrived, as `name change`.
    fn received(&self) -> Vec<String> {
        let bodies = self.bodies();
        let plain = bodies.iter().filter(|(_, body)| body["version"] == 1);
        plain
            .map(|(_, body)| {
                let text = |key: &str| body[key].as_str().unwrap().to_owned();
                format!("{} {}", text("name"), text("change"))
            })
            .collect()
    }
}

/// A file with a URL, as a secret has to be.
fn url_file(stage: &Stage, name: &str, url: &str) -> String {
    let path = stage.path(name);
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .unwrap();
    writeln!(file, "{url}").unwrap();
    path.display().to_string()
}

fn destination(service: &str, url_file: &str) -> Table {
    let mut table = Table::new();
    table.insert("service".to_owned(), service.into());
    table.insert("url_file".to_owned(), url_file.into());
    table
}

/// A stage whose daemon is configured to write to these.
fn with(stage: &Stage, destinations: Vec<Table>) {
    stage.daemon("daemon", &stage.url(), |file| {
        quick(file);
        let all = destinations
            .into_iter()
            .map(toml::Value::Table)
            .collect::<Vec<_>>();
        file.put("messages", all);
    });
}

#[test]
fn what_is_wrong_arrives_once_and_its_end_too() {
    let stage = Stage::open("messages", |_| {});
    let receiver = Receiver::default();
    let url = receiver.listen();
    *receiver.failures.lock().unwrap() = vec![503, 429];
    let plain = url_file(&stage, "plain", &format!("{url}/hook/{SECRET}"));
    let slack = url_file(&stage, "slack", &format!("{url}/services/{SECRET}"));
    let mut slack = destination("slack", &slack);
    slack.insert("severity".to_owned(), "page".into());
    slack.insert(
        "template".to_owned(),
        "{name} of {daemon}: {summary} <b>".into(),
    );
    with(&stage, vec![destination("json", &plain), slack]);
    let mut daemon = stage.run("daemon");
    until(SOON, "a ready daemon", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (stage.command("status").1["ready"] == true).then_some(())
    });
    let config = stage.path("daemon.toml").display().to_string();
    let mut watch = Program::start(
        stage.folder.path(),
        "watch",
        &["watch", "--config", &config],
    );

    assert_eq!(stage.command("kill --cancel-only --reason drill").0, 0);
    until(SOON, "the condition", || {
        assert!(watch.ended().is_none(), "{}", watch.last_words());
        let received = receiver.received();
        (received == ["CambistCancelOnly raised"]).then_some(())
    });
    assert_eq!(stage.command("resume --reason drill").0, 0);
    until(SOON, "its end", || {
        let received = receiver.received();
        (received.last()? == "CambistCancelOnly resolved").then_some(())
    });
    assert_eq!(receiver.received().len(), 2);

    daemon.kill();
    until(SOON, "that it is gone", || {
        let received = receiver.received();
        (received.last()? == "CambistGone raised").then_some(())
    });
    until(SOON, "the other destination", || {
        let bodies = receiver.bodies();
        let mut texts = bodies.iter().filter_map(|(path, body)| {
            assert!(path.ends_with(SECRET), "{path}");
            body["text"]
                .as_str()
                .filter(|_| path.starts_with("/services/"))
        });
        let gone = "CambistGone of daemon: the daemon does not run &lt;b&gt;";
        texts.any(|text| text == gone).then_some(())
    });
    watch.signal(Signal::TERM);
    assert_eq!(watch.end(SOON), 0, "{}", watch.last_words());
    let log = watch.stderr() + &watch.stdout();
    assert!(log.contains("a message did not arrive"), "{log}");
    assert!(log.contains("messages[0] (json)"), "{log}");
    assert!(!log.contains(SECRET), "{log}");
    stage.close();
}

#[test]
fn a_test_message_reports_what_arrived_and_a_bad_file_is_refused() {
    let stage = Stage::open("messages-test", |_| {});
    let receiver = Receiver::default();
    let url = receiver.listen();
    let topic = url_file(&stage, "ntfy", &format!("{url}/{SECRET}"));
    // Nothing listens there.
    let unreachable = url_file(
        &stage,
        "unreachable",
        &format!("http://127.0.0.1:1/{SECRET}"),
    );
    let config = stage.path("daemon.toml").display().to_string();
    let test = |name: &str| {
        let args = ["watch", "--test", "--json", "--config", &config];
        let (code, out, log) = run(stage.folder.path(), name, &args, SOON);
        assert!(!out.contains(SECRET) && !log.contains(SECRET), "{out}{log}");
        (code, out, log)
    };
    with(&stage, vec![destination("ntfy", &topic)]);
    let (code, out, _) = test("good");
    assert_eq!(
        (code, out.contains("\"arrived\": true")),
        (0, true),
        "{out}"
    );
    let (path, body) = receiver.bodies().remove(0);
    assert_eq!((path.as_str(), &body["topic"]), ("/", &SECRET.into()));
    // No program takes it for a condition of the daemon.
    assert!(body.to_string().contains("CambistTest"), "{body}");

    with(
        &stage,
        vec![
            destination("ntfy", &topic),
            destination("json", &unreachable),
        ],
    );
    let (code, out, _) = test("half");
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("messages[1] (json)"), "{out}");

    // Refused: a URL in the open, a redirecting scheme, a file that others can read, no destination.
    let remote = url_file(&stage, "remote", &format!("http://example.org/{SECRET}"));
    with(&stage, vec![destination("json", &remote)]);
    let (code, _, log) = test("remote");
    assert!(code == 77 && log.contains("https"), "{code} {log}");
    std::fs::write(stage.path("open"), format!("{url}/{SECRET}\n")).unwrap();
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(stage.path("open"), permissions).unwrap();
    with(
        &stage,
        vec![destination(
            "json",
            &stage.path("open").display().to_string(),
        )],
    );
    let (code, _, log) = test("open");
    assert!(code == 77 && log.contains("0644"), "{code} {log}");
    stage.daemon("daemon", &stage.url(), quick);
    let (code, _, log) = test("none");
    assert!(code == 77 && log.contains("[[messages]]"), "{code} {log}");
    // A template that is wrong is named with its line.
    let mut wrong = destination("json", &topic);
    wrong.insert("template".to_owned(), "{nmae}".into());
    with(&stage, vec![wrong]);
    let (code, _, log) = test("template");
    assert!(
        code == 77 && log.contains("{nmae} is not known"),
        "{code} {log}"
    );
    stage.close();
}

/// The commands of the first shell block below a text, as words for the program.
fn block(page: &str, above: &str) -> Vec<Vec<String>> {
    let below = page.split(above).nth(1).unwrap();
    let block = below.split("```sh\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    let words = |line: &str| {
        let line = line.strip_prefix("cargo run --release -- ").unwrap_or(line);
        let line = line.strip_prefix("cambist ").unwrap_or(line);
        line.split(' ').map(str::to_owned).collect()
    };
    block.lines().map(words).collect()
}

/// What the quick start and the runbook's drills show, word for word, on a daemon of the demo's kind.
#[test]
fn the_commands_of_quick_start_and_runbook_do_what_they_say() {
    const QUICK_START: &str = include_str!("../../docs/quick-start.md");
    const RUNBOOK: &str = include_str!("../../docs/runbook.md");
    let stage = Stage::open("documents", |_| {});
    stage.daemon("daemon", &stage.url(), quick);
    let config = stage.path("daemon.toml").display().to_string();
    let parts = [(QUICK_START, "In a third:", 0), (RUNBOOK, "## Drills", 78)];
    for (page, above, end) in parts {
        let mut daemon = stage.run("daemon");
        until(SOON, "a ready daemon", || {
            assert!(daemon.ended().is_none(), "{}", daemon.last_words());
            (stage.command("status").1["ready"] == true).then_some(())
        });
        let lines = block(page, above);
        assert!(lines.len() >= 5, "{lines:?}");
        for line in lines {
            let is_example = |word: &String| word == "config/demo.toml";
            assert!(line.iter().any(is_example), "{line:?}");
            let args = line.iter().map(|word| {
                if is_example(word) {
                    config.as_str()
                } else {
                    word.as_str()
                }
            });
            let args: Vec<_> = args.collect();
            let (code, out, log) = run(stage.folder.path(), "command", &args, SOON);
            assert_eq!(code, 0, "{line:?}\n{out}{log}");
        }
        assert_eq!(daemon.end(SOON), end, "{}", daemon.last_words());
    }
    stage.close();
}
