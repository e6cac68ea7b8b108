//! POST of JSON to a URL that is a secret itself: chat services put their token into the path.
//!
//! The URL appears in no error and has no `Debug`.

use reqwest::{Method, Url};

use crate::config::ClientConfig;
use crate::error::SetupError;
use crate::public::PublicUrl;
use crate::transport::{Exchange, Headers, Outgoing, Transport};

/// Answers are read this far; what they say does not matter.
const ANSWER_MAX_BYTES: usize = 16 << 10;
/// An attempt ends after this.
const TIMEOUT_MS: u64 = 10_000;

/// Why a message did not arrive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// Another answer than 2xx.
    #[error("it answers {status}")]
    Status {
        /// HTTP status.
        status: u16,
        /// The wait that it asks for.
        retry_after_ms: Option<u64>,
    },
    /// No whole answer.
    #[error("{0}")]
    Failed(String),
}

fn config() -> ClientConfig {
    ClientConfig {
        timeout_ms: TIMEOUT_MS,
        ..ClientConfig::new("")
    }
}

/// One destination.
#[derive(Clone)]
pub struct Webhook {
    transport: Transport,
    url: Url,
}

impl Webhook {
    /// A destination: `https`, or `http` to the same machine. No redirects, no proxy, no repetition.
    pub fn new(url: &str) -> Result<Self, SetupError> {
        let hidden = |error: SetupError| match error {
            SetupError::BaseUrl { problem, .. } => SetupError::BaseUrl {
                url: "(hidden)".to_owned(),
                problem,
            },
            other => other,
        };
        let url = PublicUrl::parse(url).map_err(hidden)?.into_url();
        Ok(Self {
            transport: Transport::with_tls(&config(), url.scheme() == "https")?,
            url,
        })
    }

    /// The same destination at its root, and the last part of its path: services that take a topic.
    pub fn split_topic(mut self) -> Option<(Self, String)> {
        let topic = self.url.path_segments()?.next_back()?.to_owned();
        self.url.set_path("/");
        (!topic.is_empty()).then_some((self, topic))
    }

    /// Sends a body once.
    pub async fn post(&self, body: Vec<u8>) -> Result<(), WebhookError> {
        let outgoing = Outgoing {
            method: Method::POST,
            url: self.url.clone(),
            headers: Headers::EXCHANGE,
            api_key: None,
            signature: None,
            body: Some(body),
            body_max_bytes: ANSWER_MAX_BYTES,
        };
        match self.transport.exchange(outgoing).await {
            Exchange::Whole(answer) => match answer.status {
                200..=299 => Ok(()),
                status => Err(WebhookError::Status {
                    status,
                    retry_after_ms: answer.retry_after_ms,
                }),
            },
            Exchange::NotSent(detail) | Exchange::Broken { detail, .. } => {
                Err(WebhookError::Failed(detail))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn an_attempt_has_ten_seconds() {
        assert_eq!(config().timeout_ms, 10_000);
    }

    #[test]
    fn a_topic_is_the_last_part_of_the_path() {
        let webhook = |url| Webhook::new(url).unwrap();
        let (root, topic) = webhook("http://127.0.0.1:9/a/topic").split_topic().unwrap();
        assert_eq!(
            (root.url.as_str(), topic.as_str()),
            ("http://127.0.0.1:9/", "topic")
        );
        for without in [
            "http://127.0.0.1:9/",
            "http://127.0.0.1:9",
            "http://127.0.0.1:9/a/",
        ] {
            assert!(webhook(without).split_topic().is_none(), "{without}");
        }
    }

    /// The path of a webhook is a secret.
    #[test]
    fn errors_do_not_show_the_url() {
        for bad in [
            "http://example.org/secret",
            "https://example.org/#secret",
            "secret",
        ] {
            let error = Webhook::new(bad).err().unwrap().to_string();
            assert!(
                error.contains("(hidden)") && !error.contains("secret"),
                "{error}"
            );
        }
    }
}
