//! The text of a message: words with placeholders in braces, checked when the configuration is read.

use crate::schedule::{Change, Message};

/// What a template may name.
const PLACEHOLDERS: [&str; 7] = [
    "change", "severity", "name", "subject", "summary", "lasts", "daemon",
];

/// The text without a template of one's own.
pub const DEFAULT: &str = "[{severity}] {name} {change}: {subject} {summary} ({daemon})";

/// Why a template is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Not a placeholder.
    #[error(
        "{{{0}}} is not known in a template; known are {{change}}, {{severity}}, {{name}}, {{subject}}, {{summary}}, {{lasts}}, {{daemon}}"
    )]
    Unknown(String),
    /// A brace without its other half.
    #[error("a brace has no other half; write {{{{ for a brace that is text")]
    Brace,
    /// It names nothing.
    #[error("a template must name {{summary}} or {{name}}: every message would be the same")]
    Constant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Placeholder(&'static str),
}

/// A checked template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Part>);

impl Template {
    /// Reads a template. `{{` and `}}` are braces.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '{' | '}' if chars.peek() == Some(&c) => {
                    chars.next();
                    plain.push(c);
                }
                '}' => return Err(TemplateError::Brace),
                '{' => {
                    let mut name = String::new();
                    loop {
                        match chars.next() {
                            Some('}') => break,
                            Some('{') | None => return Err(TemplateError::Brace),
                            Some(c) => name.push(c),
                        }
                    }
                    let known = PLACEHOLDERS.into_iter().find(|known| *known == name);
                    let known = known.ok_or(TemplateError::Unknown(name))?;
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                    parts.push(Part::Placeholder(known));
                }
                c => plain.push(c),
            }
        }
        parts.push(Part::Text(plain));
        let names = |name| parts.contains(&Part::Placeholder(name));
        if !names("summary") && !names("name") {
            return Err(TemplateError::Constant);
        }
        Ok(Self(parts))
    }

    /// The text of a message about a daemon. Runs of spaces become one: a subject may be absent.
    pub fn render(&self, message: &Message, daemon: &str) -> String {
        let condition = &message.condition;
        let lasts = format!("{} s", message.lasts_s);
        // What is over must not read as if it held.
        let summary = match message.change {
            Change::Raised | Change::Lasting => condition.summary.clone(),
            Change::Resolved => format!("over: {}", condition.summary),
        };
        let value = |name: &str| match name {
            "change" => message.change.name(),
            "severity" => condition.kind.severity.name(),
            "name" => condition.kind.name,
            "subject" => &condition.subject,
            "summary" => &summary,
            "lasts" => &lasts,
            _ => daemon,
        };
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Placeholder(name) => text.push_str(value(name)),
            }
        }
        let words: Vec<_> = text.split(' ').filter(|word| !word.is_empty()).collect();
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::conditions;

    fn rendered(template: &str) -> Result<String, TemplateError> {
        changed(template, Change::Raised)
    }

    fn changed(template: &str, change: Change) -> Result<String, TemplateError> {
        let message = Message {
            change,
            condition: conditions(None).remove(0),
            lasts_s: 15,
        };
        Template::parse(template).map(|template| template.render(&message, "eth"))
    }

    #[test]
    fn placeholders_are_filled_and_braces_kept() {
        assert_eq!(
            rendered(DEFAULT).as_deref(),
            Ok("[page] CambistGone raised: no daemon answers (eth)")
        );
        assert_eq!(
            rendered("{{{name}}} {lasts}").as_deref(),
            Ok("{CambistGone} 15 s")
        );
        assert_eq!(
            changed("{name} {change}: {summary}", Change::Resolved).as_deref(),
            Ok("CambistGone resolved: over: no daemon answers")
        );
    }

    #[test]
    fn a_wrong_template_is_refused_with_what_is_known() {
        let unknown = rendered("{name} {sumary}");
        assert_eq!(unknown, Err(TemplateError::Unknown("sumary".to_owned())));
        for bad in ["{name", "name} {summary}", "{na{me}"] {
            assert_eq!(rendered(bad), Err(TemplateError::Brace), "{bad}");
        }
        assert_eq!(rendered("help! {severity}"), Err(TemplateError::Constant));
        let shown = TemplateError::Unknown("x".to_owned()).to_string();
        assert!(
            PLACEHOLDERS
                .iter()
                .all(|name| shown.contains(&format!("{{{name}}}"))),
            "{shown}"
        );
    }
}
