//! The header of a NumPy array file: a Python literal that describes the rows.
//!
//! Format: "The NPY format" in NumPy's documentation (`numpy.lib.format`), versions 1 to 3.

use std::io::Read;

use crate::defect::Defect;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Most bytes of a header; more is damage.
const HEADER_MAX_BYTES: usize = 64 << 10;

/// Layout of the rows in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub rows: u64,
    pub row_bytes: usize,
    pub fields: Fields,
}

/// Offsets of the fields in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    pub ev: usize,
    pub exch_ts: usize,
    pub local_ts: usize,
    pub px: usize,
    pub qty: usize,
    pub order_id: usize,
}

/// The usual offsets.
pub const FIELDS: Fields = Fields {
    ev: 0,
    exch_ts: 8,
    local_ts: 16,
    px: 24,
    qty: 32,
    order_id: 40,
};

/// The usual length of a row.
pub const ROW_BYTES: usize = 64;

/// Reads magic bytes, version and header.
pub fn read(input: &mut impl Read) -> Result<Layout, Defect> {
    let mut start = [0; 8];
    let neither = "it is neither a NumPy array (.npy) nor an archive of arrays (.npz)";
    // Fewer bytes than any array has.
    input
        .read_exact(&mut start)
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                format(format!("{neither}: it is empty or cut off"))
            }
            _ => Defect::Io(error),
        })?;
    if start[..6] != *MAGIC {
        return Err(format(neither));
    }
    let length = match start[6] {
        1 => {
            let mut bytes = [0; 2];
            exactly(input, &mut bytes, "header")?;
            usize::from(u16::from_le_bytes(bytes))
        }
        2 | 3 => {
            let mut bytes = [0; 4];
            exactly(input, &mut bytes, "header")?;
            usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX)
        }
        other => {
            return Err(format(format!(
                "NumPy array format {other} is not supported"
            )));
        }
    };
    if length > HEADER_MAX_BYTES {
        return Err(format(format!(
            "its header has {length} bytes, which is too long"
        )));
    }
    let mut text = vec![0; length];
    exactly(input, &mut text, "header")?;
    let text = String::from_utf8_lossy(&text);
    let literal = Literal::parse(&text)
        .ok_or_else(|| format(format!("its header cannot be read: {}", text.trim())))?;
    layout(&literal)
}

fn exactly(input: &mut impl Read, buffer: &mut [u8], what: &str) -> Result<(), Defect> {
    input
        .read_exact(buffer)
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => format(format!("it ends in its {what}")),
            _ => Defect::Io(error),
        })
}

fn format(what: impl Into<String>) -> Defect {
    Defect::Format { what: what.into() }
}

fn layout(literal: &Literal) -> Result<Layout, Defect> {
    let rows = match literal.entry("shape") {
        Some(Literal::List(shape)) if shape.len() == 1 => match shape[0] {
            Literal::Number(rows) => rows,
            _ => return Err(format("its shape is not a length")),
        },
        _ => return Err(format("it must be one-dimensional")),
    };
    let Some(Literal::List(columns)) = literal.entry("descr") else {
        return Err(wrong_columns(&[]));
    };
    let mut found = Vec::new();
    let mut row_bytes = 0;
    for column in columns {
        let (name, kind) = match column {
            Literal::List(parts) => match parts.as_slice() {
                [Literal::Text(name), Literal::Text(kind)] => (name, kind),
                _ => return Err(wrong_columns(&found)),
            },
            _ => return Err(wrong_columns(&found)),
        };
        let bytes = bytes_of(kind).ok_or_else(|| wrong_columns(&found))?;
        found.push((name.as_str(), kind.as_str(), row_bytes));
        row_bytes += bytes;
    }
    let offset = |name: &str, kind: &str| {
        found
            .iter()
            .find(|column| column.0 == name && column.1 == kind)
            .map(|column| column.2)
            .ok_or_else(|| wrong_columns(&found))
    };
    let fields = Fields {
        ev: offset("ev", "<u8")?,
        exch_ts: offset("exch_ts", "<i8")?,
        local_ts: offset("local_ts", "<i8")?,
        px: offset("px", "<f8")?,
        qty: offset("qty", "<f8")?,
        order_id: offset("order_id", "<u8")?,
    };
    Ok(Layout {
        rows,
        row_bytes,
        fields,
    })
}

fn wrong_columns(found: &[(&str, &str, usize)]) -> Defect {
    let columns: Vec<_> = found.iter().map(|(n, k, _)| format!("{n} {k}")).collect();
    format(format!(
        "wrong columns: expected ev <u8, exch_ts <i8, local_ts <i8, px <f8, qty <f8, order_id <u8, \
         found {}",
        if columns.is_empty() {
            "no structured rows".to_owned()
        } else {
            columns.join(", ")
        }
    ))
}

/// Number of bytes of a NumPy type string such as `<f8`, `|V4`, `<U3`.
fn bytes_of(kind: &str) -> Option<usize> {
    let digits = kind.find(|c: char| c.is_ascii_digit())?;
    let count: usize = kind[digits..].parse().ok()?;
    let each = if kind[..digits].ends_with('U') { 4 } else { 1 };
    (count <= 4_096).then_some(count * each)
}

/// The subset of Python's literals in headers.
#[derive(Debug, PartialEq, Eq)]
enum Literal {
    Text(String),
    Number(u64),
    Word(String),
    List(Vec<Self>),
    Table(Vec<(Self, Self)>),
}

impl Literal {
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text;
        let literal = Self::next(&mut rest, 0)?;
        rest.trim().is_empty().then_some(literal)
    }

    fn entry(&self, key: &str) -> Option<&Self> {
        let Self::Table(entries) = self else {
            return None;
        };
        let is_key = |name: &Self| matches!(name, Self::Text(name) if name == key);
        entries.iter().find(|(k, _)| is_key(k)).map(|(_, v)| v)
    }

    fn next(rest: &mut &str, depth: usize) -> Option<Self> {
        *rest = rest.trim_start();
        let first = rest.chars().next()?;
        match first {
            '\'' | '"' => {
                let end = rest[1..].find(first)? + 1;
                let text = rest[1..end].to_owned();
                *rest = &rest[end + 1..];
                // Names of columns contain no escapes.
                (!text.contains('\\')).then_some(Self::Text(text))
            }
            '[' | '(' | '{' if depth < 8 => {
                *rest = &rest[1..];
                Self::items(rest, first, depth)
            }
            _ => {
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric())
                    .unwrap_or(rest.len());
                let word = &rest[..end];
                *rest = &rest[end..];
                if word.is_empty() {
                    return None;
                }
                let word = word.to_owned();
                Some(word.parse().map_or(Self::Word(word), Self::Number))
            }
        }
    }

    fn items(rest: &mut &str, open: char, depth: usize) -> Option<Self> {
        let close = match open {
            '[' => ']',
            '(' => ')',
            _ => '}',
        };
        let (mut items, mut entries) = (Vec::new(), Vec::new());
        loop {
            *rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix(close) {
                *rest = after;
                return Some(if close == '}' {
                    Self::Table(entries)
                } else {
                    Self::List(items)
                });
            }
            let item = Self::next(rest, depth + 1)?;
            *rest = rest.trim_start();
            if close == '}' {
                *rest = rest.strip_prefix(':')?;
                entries.push((item, Self::next(rest, depth + 1)?));
                *rest = rest.trim_start();
            } else {
                items.push(item);
            }
            match rest.strip_prefix(',') {
                Some(after) => *rest = after,
                None if rest.starts_with(close) => {}
                None => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    const USUAL: &str = "{'descr': [('ev', '<u8'), ('exch_ts', '<i8'), ('local_ts', '<i8'), \
        ('px', '<f8'), ('qty', '<f8'), ('order_id', '<u8'), ('ival', '<i8'), ('fval', '<f8')], \
        'fortran_order': False, 'shape': (452115,), }   \n";

    fn file(version: u8, header: &str) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        let length = u32::try_from(header.len()).unwrap().to_le_bytes();
        bytes.extend(&length[..if version == 1 { 2 } else { 4 }]);
        bytes.extend(header.as_bytes());
        bytes
    }

    fn error(bytes: &[u8]) -> String {
        read(&mut &bytes[..]).unwrap_err().to_string()
    }

    #[test]
    fn the_usual_header_is_read_in_every_version() {
        for version in 1..=3 {
            let layout = read(&mut &file(version, USUAL)[..]).unwrap();
            assert_eq!(layout.fields, FIELDS);
            assert_eq!((layout.rows, layout.row_bytes), (452_115, ROW_BYTES));
        }
    }

    #[test]
    fn columns_may_stand_in_another_order_and_beside_others() {
        let header = "{\"descr\":[('note','<U3'),('qty','<f8'),('px','<f8'),('order_id','<u8'),\
            ('local_ts','<i8'),('exch_ts','<i8'),('','|V4'),('ev','<u8')],'fortran_order':True,\
            'shape':(7,)}";
        let layout = read(&mut &file(1, header)[..]).unwrap();
        assert_eq!((layout.fields.qty, layout.fields.ev), (12, 56));
        assert_eq!((layout.rows, layout.row_bytes), (7, 64));
    }

    #[test]
    fn other_files_are_refused_with_what_was_found() {
        assert!(error(b"time,bid").contains("neither a NumPy array"));
        assert!(error(b"\x93NUMPY\x01\x00\x10\x00{").contains("ends in its header"));
        assert!(error(&file(9, USUAL)).contains("format 9"));
        assert!(error(&file(1, &USUAL.replace("<f8", ">f8"))).contains("px >f8"));
        assert!(error(&file(1, &USUAL.replace("(452115,)", "(3, 4)"))).contains("dimension"));
        assert!(error(&file(1, &USUAL.replace("(452115,)", "('x',)"))).contains("shape"));
        let plain = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}";
        assert!(error(&file(1, plain)).contains("no structured rows"));
        for broken in [
            "{'descr': [",
            "{'a' 1}",
            "[1 2]",
            "{}}",
            "'a\\'",
            "((((((((((1))))))))))",
        ] {
            assert!(
                error(&file(1, broken)).contains("cannot be read"),
                "{broken}"
            );
        }
        let mut long = file(2, USUAL);
        long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(error(&long).contains("too long"));
    }
}
