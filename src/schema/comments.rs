//! The comments of an example file, by the key below them.

/// Path and explanation of every key and section that the text shows, also of those that are commented out.
/// A comment belongs to all keys that follow it without another comment between.
pub(super) fn of(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut section = String::new();
    let mut comment: Vec<&str> = Vec::new();
    let mut is_used = false;
    for line in text.lines() {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        if let Some(name) = header(bare) {
            name.clone_into(&mut section);
            found.push((section.clone(), sentence(&comment)));
            (comment, is_used) = (Vec::new(), true);
        } else if let Some(key) = key(bare) {
            let path = if section.is_empty() {
                key.to_owned()
            } else {
                format!("{section}.{key}")
            };
            found.push((path, sentence(&comment)));
            is_used = true;
        } else if line.starts_with("# ----") || line.is_empty() {
            (comment, is_used) = (Vec::new(), false);
        } else if let Some(words) = line.strip_prefix("# ") {
            if is_used {
                (comment, is_used) = (Vec::new(), false);
            }
            comment.push(words.trim());
        }
    }
    found
}

/// The text with a section that is commented out, up to the next empty line, in force: its keys are asked for
/// only where it is written.
pub(super) fn uncommented(text: &str, section: &str) -> String {
    let begin = format!("# {section}");
    let mut is_inside = false;
    let mut result = String::new();
    for line in text.lines() {
        is_inside = (is_inside || line == begin) && !line.is_empty();
        let bare = line.strip_prefix("# ").unwrap_or(line);
        let is_used = is_inside && (header(bare).is_some() || key(bare).is_some());
        result.push_str(if is_used { bare } else { line });
        result.push('\n');
    }
    result
}

/// The section of a line such as `[market.pool]` or `[[market]]`.
fn header(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('[')?;
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    let name = inner.split(']').next()?;
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte == b'_' || byte == b'.';
    (!name.is_empty() && name.bytes().all(is_name)).then_some(name)
}

/// The key of a line such as `ttl_s = 120`.
fn key(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(" = ")?;
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (!name.is_empty() && name.bytes().all(is_name)).then_some(name)
}

fn sentence(lines: &[&str]) -> String {
    lines.join(" ")
}

#[cfg(test)]
mod tests {
    use super::{of, uncommented};

    #[test]
    fn a_section_that_is_commented_out_can_be_read() {
        let text = "# Why.\n# [[a]]\n# What.\n# b = 1\n\n# c = 2\n";
        let expected = "# Why.\n[[a]]\n# What.\nb = 1\n\n# c = 2\n";
        assert_eq!(uncommented(text, "[[a]]"), expected);
    }

    #[test]
    fn a_comment_belongs_to_the_keys_below_it() {
        let text = "# A file.\n\n# Version.\nconfig_version = 1\n\n# Two\n# lines.\n[orders]\n# Life.\nttl_s = 1\ngrace_s = 2\n# Absent.\n# flag = true\n\nbare = 1\n[[market]]\n";
        let found = of(text);
        let found: Vec<_> = found
            .iter()
            .map(|(path, what)| (path.as_str(), what.as_str()))
            .collect();
        let expected = [
            ("config_version", "Version."),
            ("orders", "Two lines."),
            ("orders.ttl_s", "Life."),
            ("orders.grace_s", "Life."),
            ("orders.flag", "Absent."),
            ("orders.bare", ""),
            ("market", ""),
        ];
        assert_eq!(found, expected);
    }
}
