//! The reference of both files as a page: every key with type, default, range and meaning, by section.

use std::fmt::Write as _;

use cambist_config::{ConfigError, Kind, Shape};

use super::{Documentation, Documented, children, documentation, join};

const HEAD: &str = "\
# Configuration reference

Every key of the daemon's and of the exchange's file, as the parser reads it: `cambist config reference` prints this page. [config/cambist.toml](../config/cambist.toml) and [config/venue.toml](../config/venue.toml) show the keys in context. [limits.md](limits.md) states which control compares a limit, and in which direction it is looser.

`cambist config schema daemon` and `cambist config schema exchange` print JSON Schema for editors (the Debian package has both in `/usr/share/cambist`). For an editor with a TOML language server begin the file with:

```toml
#:schema /usr/share/cambist/daemon.schema.json
```

The schema knows keys, types, ranges and words. Rules between keys are checked by `cambist check`.

An *amount* is a decimal string of whole tokens, perhaps with the symbol: `\"0.5 ETH\"`. Relative paths are taken from the file's folder. A key without a default and not marked *required* may be absent; its meaning states what applies then.
";

/// The page, in Markdown.
pub fn page() -> Result<String, ConfigError> {
    let mut text = HEAD.to_owned();
    for (kind, title) in [
        (Kind::Daemon, "The daemon's file"),
        (Kind::Exchange, "The exchange's file"),
    ] {
        let documentation = documentation(kind)?;
        let _ = write!(text, "\n## {title}\n");
        for path in tables(&documentation) {
            section(&documentation, &path, &mut text);
        }
    }
    Ok(text)
}

/// The tables of a file in the order of the examples; the whole file is the first.
fn tables(documentation: &Documentation) -> Vec<String> {
    let is_table = |path: &&String| {
        let shape = &documentation.keys[*path].key.shape;
        matches!(shape, Shape::Section | Shape::Sections | Shape::Free)
    };
    let mut order: Vec<_> = documentation
        .order
        .iter()
        .filter(is_table)
        .cloned()
        .collect();
    let rest = documentation.keys.keys().filter(is_table);
    let rest: Vec<_> = rest.filter(|path| !order.contains(path)).cloned().collect();
    order.extend(rest);
    order.insert(0, String::new());
    order
}

fn section(documentation: &Documentation, path: &str, text: &mut String) {
    let about = documentation.keys.get(path);
    if let Some(about) = about {
        let header = match about.key.shape {
            Shape::Sections => format!("[[{path}]]"),
            _ => format!("[{path}]"),
        };
        let _ = write!(text, "\n### `{header}`\n");
        if !about.meaning.is_empty() {
            let _ = write!(text, "\n{}\n", about.meaning);
        }
        if about.key.shape == Shape::Free {
            let what = match path {
                "market.strategy.params" => {
                    "The parameters of the strategy: `cambist strategy show NAME`."
                }
                "venue.tokens" => "One key for each token, by its symbol: an address.",
                _ => "One key for each token, by its symbol: an amount.",
            };
            let _ = write!(text, "\n{what}\n");
        }
    }
    let mut rows: Vec<_> = children(documentation, path)
        .filter(|(_, about)| {
            !matches!(
                about.key.shape,
                Shape::Section | Shape::Sections | Shape::Free
            )
        })
        .collect();
    let place = |name: &str| {
        let path = join(path, name);
        let at = documentation.order.iter().position(|known| *known == path);
        at.unwrap_or(usize::MAX)
    };
    rows.sort_by_key(|(name, _)| place(name));
    if rows.is_empty() {
        return;
    }
    text.push_str("\n| key | type | default | range | meaning |\n|---|---|---|---|---|\n");
    for (name, about) in rows {
        row(name, about, text);
    }
}

fn row(name: &str, about: &Documented, text: &mut String) {
    let key = &about.key;
    let shape = match &key.shape {
        Shape::Text => "string".to_owned(),
        Shape::Path => "path".to_owned(),
        Shape::Socket => "address and port".to_owned(),
        Shape::Amount => "amount".to_owned(),
        Shape::Amounts => "amount, or a list".to_owned(),
        Shape::Texts => "list of strings".to_owned(),
        Shape::Addresses => "list of addresses".to_owned(),
        Shape::Flag => "true, false".to_owned(),
        Shape::Number | Shape::Signed => "integer".to_owned(),
        Shape::Decimal => "number".to_owned(),
        Shape::Plain => "list of values".to_owned(),
        Shape::Word(words) => {
            let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(", ")
        }
        Shape::Section | Shape::Sections | Shape::Free => "table".to_owned(),
    };
    let default = match (&key.default, key.is_required) {
        (_, true) => "*required*".to_owned(),
        (Some(default), false) => format!("`{default}`"),
        (None, false) => String::new(),
    };
    let range = key.range.as_ref();
    let range = range.map_or_else(String::new, |range| {
        format!("{} to {}", range.start(), range.end())
    });
    let meaning = about.meaning.replace('|', "\\|");
    let _ = writeln!(
        text,
        "| `{name}` | {shape} | {default} | {range} | {meaning} |"
    );
}
