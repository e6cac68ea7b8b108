//! The rules about transport and authentication in docs/venue-rules.md name tests that exist.

use std::fs;
use std::path::Path;

fn sources(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_rule_of_the_server_names_its_tests() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut code = String::new();
    sources(&package.join("src"), &mut code);
    sources(&package.join("tests"), &mut code);
    // What is below the server, and what the program decides for it.
    for folder in ["../listener", "../host", "../exchange", "../../tests/cli"] {
        sources(&package.join(folder), &mut code);
    }
    let book = fs::read_to_string(package.join("../../docs/venue-rules.md")).unwrap();
    let mut seen = Vec::new();
    for line in book.lines().filter(|line| line.starts_with("| S-")) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let (rule, tests) = (cells[0], cells.last().unwrap());
        assert!(!seen.contains(&rule), "{rule} is listed twice");
        seen.push(rule);
        for test in tests.split(',').map(|name| name.trim().trim_matches('`')) {
            let test = format!("#[test]\n    fn {test}(");
            let outer = test.replace("    ", "");
            assert!(
                code.contains(&test) || code.contains(&outer),
                "{rule} names a test that does not exist: {test}"
            );
        }
    }
    assert!(seen.len() >= 25, "{} rules read", seen.len());
}
