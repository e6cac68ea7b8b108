//! What each service expects of a webhook: one JSON body for a POST.

use serde_json::{Value, json};

use crate::conditions::Severity;
use crate::schedule::{Change, Message};

/// A chat service, or anything that takes JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// Slack, Mattermost, Rocket.Chat: incoming webhooks.
    Slack,
    /// Discord.
    Discord,
    /// A Telegram bot; the URL is `https://api.telegram.org/bot<token>/sendMessage`.
    Telegram {
        /// Where the bot writes.
        chat_id: String,
    },
    /// ntfy, which takes JSON at its root.
    Ntfy {
        /// Topic.
        topic: String,
    },
    /// Everything of the message, for a program.
    Json,
}

/// Longest text, characters: Discord allows 2000, the others more.
const TEXT_MAX: usize = 1_900;

impl Service {
    /// The body for a message whose text was rendered. `dropped` messages before it did not arrive.
    pub fn body(&self, message: &Message, text: &str, daemon: &str, dropped: u64) -> Value {
        let mut text = text.to_owned();
        if dropped > 0 {
            text = format!("{text} ({dropped} earlier messages were dropped)");
        }
        let text: String = text.chars().take(TEXT_MAX).collect();
        let condition = &message.condition;
        let is_page =
            condition.kind.severity == Severity::Page && message.change != Change::Resolved;
        match self {
            // Its three control characters; a text must mention no member.
            Self::Slack => {
                let text = text
                    .replace('&', "&amp;")
                    .replace('<', "&lt;")
                    .replace('>', "&gt;");
                json!({"text": text})
            }
            Self::Discord => json!({"content": text, "allowed_mentions": {"parse": []}}),
            Self::Telegram { chat_id } => {
                json!({"chat_id": chat_id, "text": text, "disable_web_page_preview": true})
            }
            Self::Ntfy { topic } => json!({
                "topic": topic,
                "title": format!("{} {}", condition.kind.name, message.change.name()),
                "message": text,
                "priority": if is_page { 5 } else { 3 },
            }),
            Self::Json => json!({
                "version": 1,
                "daemon": daemon,
                "change": message.change.name(),
                "severity": condition.kind.severity.name(),
                "name": condition.kind.name,
                "subject": condition.subject,
                "summary": condition.summary,
                "lasts_s": message.lasts_s,
                "dropped": dropped,
                "text": text,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::conditions;

    #[test]
    fn each_service_gets_its_shape() {
        let message = Message {
            change: Change::Raised,
            condition: conditions(None).remove(0),
            lasts_s: 15,
        };
        let body = |service: Service, text: &str| service.body(&message, text, "eth", 2);
        let dropped = " (2 earlier messages were dropped)";
        let slack = body(Service::Slack, "a <!here> & b");
        assert_eq!(
            slack,
            json!({"text": format!("a &lt;!here&gt; &amp; b{dropped}")})
        );
        let discord = body(Service::Discord, "@everyone");
        assert_eq!(discord["allowed_mentions"], json!({"parse": []}));
        let telegram = body(
            Service::Telegram {
                chat_id: "-100".to_owned(),
            },
            "a",
        );
        assert_eq!(telegram["chat_id"], "-100");
        let ntfy = body(
            Service::Ntfy {
                topic: "t".to_owned(),
            },
            "a",
        );
        assert_eq!(
            (&ntfy["topic"], &ntfy["priority"]),
            (&json!("t"), &json!(5))
        );
        let plain = body(Service::Json, "a");
        assert_eq!(
            (&plain["name"], &plain["dropped"]),
            (&json!("CambistGone"), &json!(2))
        );
        let long = body(Service::Discord, &"é".repeat(5_000));
        assert_eq!(
            long["content"].as_str().map(|text| text.chars().count()),
            Some(TEXT_MAX)
        );
    }
}
