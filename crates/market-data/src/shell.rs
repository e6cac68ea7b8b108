//! Commands in messages, to be copied into a shell.

/// A text as one word of a POSIX shell: as it is, or in single quotes.
pub fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_or_expand_them() {
        for (text, expected) in [
            ("data/eth-usdc_1.csv", "data/eth-usdc_1.csv"),
            ("my data.csv", "'my data.csv'"),
            ("$(x).csv", "'$(x).csv'"),
            ("it's.csv", r"'it'\''s.csv'"),
            ("", "''"),
        ] {
            assert_eq!(word(text), expected);
        }
    }
}
