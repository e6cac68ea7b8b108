//! `[[messages]]`: destinations of `cambist watch`.

use std::path::{Path, PathBuf};

use cambist_messages::template::DEFAULT;
use cambist_messages::{Severity, Template};

use super::reader::Section;

/// A chat service, or anything that takes JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceName {
    /// Slack and what takes its webhooks.
    Slack,
    /// Discord.
    Discord,
    /// A Telegram bot.
    Telegram,
    /// ntfy.
    Ntfy,
    /// Plain JSON.
    Json,
}

/// One destination. The URL is a secret and is kept in a file of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Shape of the body.
    pub service: ServiceName,
    /// File with the URL.
    pub url_file: PathBuf,
    /// The chat of a Telegram bot.
    pub chat_id: Option<String>,
    /// Least severity that is sent.
    pub least: Severity,
    /// The text.
    pub template: Template,
    /// A message is sent again after this while its condition lasts, seconds.
    pub repeat_s: u64,
}

impl ServiceName {
    /// Names in the file.
    pub const WORDS: &'static [(&'static str, Self)] = &[
        ("slack", Self::Slack),
        ("discord", Self::Discord),
        ("telegram", Self::Telegram),
        ("ntfy", Self::Ntfy),
        ("json", Self::Json),
    ];

    /// Its name in the file.
    pub fn name(self) -> &'static str {
        let word = Self::WORDS.iter().find(|(_, one)| *one == self);
        word.map_or("", |(word, _)| word)
    }
}

const SEVERITIES: &[(&str, Severity)] = &[("ticket", Severity::Ticket), ("page", Severity::Page)];

/// Reads one destination.
pub(super) fn read(mut section: Section<'_, '_>, folder: &Path) -> Option<Destination> {
    let service = section.word("service", ServiceName::WORDS, ServiceName::Json);
    let url_file = section.req::<PathBuf>("url_file");
    let chat_id = section.opt::<String>("chat_id");
    if (service.value == ServiceName::Telegram) != chat_id.is_some() {
        let what = "messages.chat_id is needed for service = \"telegram\", and for no other";
        section.problem(service.at, what);
    }
    let least = section.word("severity", SEVERITIES, Severity::Ticket);
    let text = section.or("template", DEFAULT.to_owned());
    let template = Template::parse(&text.value);
    if let Err(error) = &template {
        section.problem(text.at, format!("messages.template: {error}"));
    }
    let repeat_s = section.number("repeat_s", 14_400, 60..=604_800);
    section.finish();
    Some(Destination {
        service: service.value,
        url_file: folder.join(url_file?.value),
        chat_id: chat_id.map(|chat| chat.value),
        least: least.value,
        template: template.ok()?,
        repeat_s: repeat_s.value,
    })
}
