//! Answers of HTTP/1.1 as the demo's proxy handles them: with a length, as the exchange sends them.

const LENGTH: &str = "content-length";
const GAP: &[u8] = b"\r\n\r\n";

/// Where the body begins.
fn body_at(message: &[u8]) -> Option<usize> {
    let at = message.windows(GAP.len()).position(|part| part == GAP)?;
    Some(at + GAP.len())
}

/// The bytes after the head; `None` before it is complete.
pub fn body(message: &[u8]) -> Option<&[u8]> {
    message.get(body_at(message)?..)
}

/// Whether an answer has its whole body. Without a length it is never complete.
pub fn is_complete(answer: &[u8]) -> bool {
    let Some(at) = body_at(answer) else {
        return false;
    };
    let head = String::from_utf8_lossy(&answer[..at]);
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let length = lines.find(|(name, _)| name.eq_ignore_ascii_case(LENGTH));
    let length = length.and_then(|(_, value)| value.trim().parse::<usize>().ok());
    length.is_some_and(|length| answer.len() - at >= length)
}

/// Whether its status is 200.
pub fn is_success(answer: &[u8]) -> bool {
    answer.starts_with(b"HTTP/1.1 200")
}

/// The same head with another body and its length.
pub fn with_body(answer: &[u8], body: &[u8]) -> Vec<u8> {
    let head = &answer[..body_at(answer).unwrap_or(answer.len())];
    let head = String::from_utf8_lossy(head);
    let mut made = Vec::with_capacity(head.len() + body.len());
    for line in head.lines().filter(|line| !line.is_empty()) {
        let name = line.split(':').next().unwrap_or_default();
        if !name.eq_ignore_ascii_case(LENGTH) {
            made.extend_from_slice(line.as_bytes());
            made.extend_from_slice(b"\r\n");
        }
    }
    made.extend_from_slice(format!("{LENGTH}: {}\r\n\r\n", body.len()).as_bytes());
    made.extend_from_slice(body);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_with_its_last_byte_and_keeps_its_head_with_another_body() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\ndate: today\r\n\r\nfirst";
        for end in 0..answer.len() {
            assert!(!is_complete(&answer[..end]), "{end}");
        }
        assert!(is_complete(answer) && is_success(answer));
        assert_eq!(body(answer), Some(&b"first"[..]));
        let other = with_body(answer, b"a longer one");
        assert!(is_complete(&other));
        assert_eq!(body(&other), Some(&b"a longer one"[..]));
        let head = String::from_utf8_lossy(&other);
        assert!(head.starts_with("HTTP/1.1 200 OK\r\ndate: today\r\ncontent-length: 12\r\n\r\n"));
        assert!(!is_complete(b"HTTP/1.1 200 OK\r\n\r\nwithout a length"));
    }
}
