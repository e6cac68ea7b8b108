//! What the environment of a process changes, and what it must not: proxy variables must not divert requests. A test
//! program of its own, because the environment belongs to the whole process.
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

#[expect(dead_code, reason = "shared with the other test program")]
mod server;

use std::process::Command;

use cambist_client::{Client, ClientConfig};
use server::{Server, Step, json};

const CHILD: &str = "CAMBIST_TEST_BASE_URL";

#[test]
fn proxy_variables_are_ignored() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    // In the child process, started below with the proxy variables: send one request to the venue.
    if let Ok(base_url) = std::env::var(CHILD) {
        let client = Client::new(&ClientConfig::new(&base_url), None).unwrap();
        assert_eq!(runtime.block_on(client.markets()).unwrap(), []);
        return;
    }
    runtime.block_on(async {
        let script = vec![Step::Send(json(200, "", r#"{"markets":[]}"#))];
        let venue = Server::start(vec![script.clone()]).await;
        let proxy = Server::start(vec![script]).await;
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "proxy_variables_are_ignored"]);
        for name in [
            "http_proxy",
            "HTTP_PROXY",
            "https_proxy",
            "HTTPS_PROXY",
            "all_proxy",
            "ALL_PROXY",
        ] {
            child.env(name, proxy.url());
        }
        child.env_remove("NO_PROXY").env_remove("no_proxy");
        child.env(CHILD, venue.url());
        let status = tokio::task::spawn_blocking(move || child.status())
            .await
            .unwrap();
        assert!(status.unwrap().success());
        assert_eq!((venue.connections(), proxy.connections()), (1, 0));
    });
}

const WITHOUT_CERTIFICATES: &str = "CAMBIST_TEST_NO_CERTIFICATES";

/// Plain HTTP to the same machine works without any certificate, and HTTPS never without one.
#[test]
fn certificates_are_needed_for_https_alone() {
    use cambist_client::{PublicReader, PublicUrl, SetupError, Webhook};
    // In the child process, started below with a file of certificates that does not exist.
    if std::env::var_os(WITHOUT_CERTIFICATES).is_some() {
        for (url, works) in [
            ("http://127.0.0.1:1/a", true),
            ("https://127.0.0.1:1/a", false),
        ] {
            let config = ClientConfig::new(url);
            let public = PublicUrl::parse(url).unwrap();
            let made = [
                Client::new(&config, None).err(),
                PublicReader::new(&config, public).err(),
                Webhook::new(url).err(),
            ];
            for error in made {
                let refused = matches!(error, Some(SetupError::Tls(_)));
                assert_eq!(
                    (error.is_none(), refused),
                    (works, !works),
                    "{url}: {error:?}"
                );
            }
        }
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "certificates_are_needed_for_https_alone"]);
    child.env("SSL_CERT_FILE", "/nonexistent/certificates");
    child.env_remove("SSL_CERT_DIR");
    child.env(WITHOUT_CERTIFICATES, "1");
    assert!(child.status().unwrap().success());
}
