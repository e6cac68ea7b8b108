//! Which edits a source allows: one syntax tree, one visitor, one small change at a time.
//!
//! Every mutant is written as a switch that leaves the program as it is unless it is on. Tests, constants' values,
//! patterns, types, macros and what formats text (`fmt`) are left alone.

use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Expr, ImplItemFn, Item, ItemFn, ReturnType, Stmt, Type};

/// What a mutant is written as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// This.
    Text(String),
    /// The source in this range, with the mutants inside.
    Source(Range<usize>),
    /// Whether the mutant is on.
    On,
}

/// A change of a source.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The function that it is in, with its type.
    pub function: String,
    /// The line that it begins at, from 1.
    pub line: usize,
    /// The kind of change.
    pub operator: &'static str,
    /// What it replaces, in bytes of the source.
    pub range: Range<usize>,
    /// What it is written as.
    pub pieces: Vec<Piece>,
    /// The original text, and the text when it is on; shortened.
    pub was: String,
    /// See `was`.
    pub became: String,
    /// The word `const` of its function: what asks for a switch cannot be constant.
    pub constness: Option<Range<usize>>,
}

/// All mutants of a source.
pub fn mutants(source: &str) -> Result<Vec<Mutant>, syn::Error> {
    let file = syn::parse_file(source)?;
    let mut finder = Finder {
        source,
        found: Vec::new(),
        owner: String::new(),
        function: None,
        constness: None,
    };
    finder.visit_file(&file);
    Ok(finder.found)
}

struct Finder<'a> {
    source: &'a str,
    found: Vec<Mutant>,
    owner: String,
    function: Option<String>,
    constness: Option<Range<usize>>,
}

fn text(text: &str) -> Piece {
    Piece::Text(text.to_owned())
}

/// `if on { changed } else { as it was }`, in parentheses.
fn choice(changed: Vec<Piece>, was: Range<usize>) -> Vec<Piece> {
    let mut pieces = vec![text("(if "), Piece::On, text(" { ")];
    pieces.extend(changed);
    pieces.extend([text(" } else { "), Piece::Source(was), text(" })")]);
    pieces
}

/// The replacements of an operator.
fn other_operators(op: &BinOp) -> &'static [&'static str] {
    match op {
        BinOp::Lt(_) => &["<=", ">"],
        BinOp::Le(_) => &["<", ">"],
        BinOp::Gt(_) => &[">=", "<"],
        BinOp::Ge(_) => &[">", "<"],
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Add(_) => &["-"],
        BinOp::Sub(_) => &["+"],
        BinOp::Mul(_) | BinOp::Rem(_) => &["/"],
        BinOp::Div(_) => &["*"],
        BinOp::AddAssign(_) => &["-=", "="],
        BinOp::SubAssign(_) => &["+=", "="],
        BinOp::BitOrAssign(_) => &["&=", "="],
        BinOp::BitAndAssign(_) => &["|=", "="],
        _ => &[],
    }
}

/// Methods that are mistaken for each other.
const METHODS: [[&str; 2]; 17] = [
    ["min", "max"],
    ["min_by_key", "max_by_key"],
    ["saturating_add", "saturating_sub"],
    ["checked_add", "checked_sub"],
    ["plus_ms", "minus_ms"],
    ["any", "all"],
    ["is_some", "is_none"],
    ["is_ok", "is_err"],
    ["is_some_and", "is_none_or"],
    ["first", "last"],
    ["insert", "remove"],
    ["div_ceil", "div_euclid"],
    ["push_back", "push_front"],
    ["pop_back", "pop_front"],
    ["take_while", "skip_while"],
    ["floor", "ceil"],
    ["values", "keys"],
];

/// Methods whose call is left out: the receiver replaces it.
const LEFT_OUT: [&str; 7] = ["filter", "rev", "skip", "take", "max", "min", "abs"];

impl Finder<'_> {
    fn add(&mut self, operator: &'static str, span: Span, pieces: Vec<Piece>, became: &str) {
        let Some(function) = self.function.clone() else {
            return;
        };
        let range = span.byte_range();
        self.found.push(Mutant {
            function,
            line: span.start().line,
            operator,
            was: short(&self.source[range.clone()]),
            became: short(became),
            range,
            pieces,
            constness: self.constness.clone(),
        });
    }

    fn written(&self, span: &impl Spanned) -> &str {
        &self.source[span.span().byte_range()]
    }

    /// A condition: negated, never, always.
    fn condition(&mut self, condition: &Expr) {
        if has_let(condition) {
            return;
        }
        let span = condition.span();
        let whole = || Piece::Source(span.byte_range());
        let was = self.written(condition).to_owned();
        let negated = vec![text("(("), whole(), text(") != "), Piece::On, text(")")];
        self.add("condition negated", span, negated, &format!("!({was})"));
        let never = vec![text("(("), whole(), text(") && !"), Piece::On, text(")")];
        self.add("condition never", span, never, "false");
        let always = vec![text("(("), whole(), text(") || "), Piece::On, text(")")];
        self.add("condition always", span, always, "true");
    }

    fn binary(&mut self, binary: &syn::ExprBinary) {
        if has_let(&binary.left) || has_let(&binary.right) {
            return;
        }
        let [left, right] = [&binary.left, &binary.right].map(|side| side.span().byte_range());
        for other in other_operators(&binary.op) {
            let assigns = other.ends_with('=') && !matches!(*other, "<=" | ">=" | "==" | "!=");
            let changed = vec![
                Piece::Source(left.clone()),
                text(&format!(" {other} ")),
                Piece::Source(right.clone()),
            ];
            let became = format!("… {other} {}", self.written(&*binary.right));
            let mut pieces = choice(changed, binary.span().byte_range());
            if assigns {
                // A statement and no value.
                pieces[0] = text("{ if ");
                pieces.push(text(" }"));
                let last = pieces.len() - 2;
                pieces[last] = text(" }");
            }
            self.add("operator", binary.span(), pieces, &became);
        }
    }

    fn method(&mut self, call: &syn::ExprMethodCall) {
        let name = call.method.to_string();
        let (whole, method) = (call.span().byte_range(), call.method.span().byte_range());
        for [a, b] in METHODS {
            let other = match name.as_str() {
                name if name == a => b,
                name if name == b => a,
                _ => continue,
            };
            let changed = vec![
                Piece::Source(whole.start..method.start),
                text(other),
                Piece::Source(method.end..whole.end),
            ];
            let pieces = choice(changed, whole.clone());
            self.add("method", call.span(), pieces, &format!("….{other}(…)"));
        }
        if LEFT_OUT.contains(&name.as_str()) {
            let receiver = call.receiver.span().byte_range();
            if name == "filter" {
                // Both must have one type: the filter lets everything pass.
                let Some(Expr::Closure(closure)) = call.args.first() else {
                    return;
                };
                let body = closure.body.span();
                let pieces = vec![
                    text("("),
                    Piece::On,
                    text(" || ("),
                    Piece::Source(body.byte_range()),
                    text("))"),
                ];
                self.add("filter left out", body, pieces, "true");
                return;
            }
            let pieces = choice(vec![Piece::Source(receiver.clone())], whole);
            let became = self.source[receiver].to_owned();
            self.add("call left out", call.span(), pieces, &became);
        }
    }

    fn literal(&mut self, literal: &syn::ExprLit) {
        let span = literal.span();
        match &literal.lit {
            syn::Lit::Int(int) => {
                let suffix = int.suffix();
                let Ok(number) = int.base10_parse::<u128>() else {
                    return;
                };
                let mut others = vec![number + 1];
                if number > 0 {
                    others.push(number - 1);
                }
                for other in others {
                    let other = format!("{other}{suffix}");
                    let pieces = choice(vec![text(&other)], span.byte_range());
                    self.add("constant", span, pieces, &other);
                }
            }
            syn::Lit::Bool(bool) => {
                let other = (!bool.value).to_string();
                let pieces = choice(vec![text(&other)], span.byte_range());
                self.add("constant", span, pieces, &other);
            }
            _ => {}
        }
    }

    /// A named constant.
    fn path(&mut self, path: &syn::ExprPath) {
        let Some(last) = path.path.segments.last() else {
            return;
        };
        let name = last.ident.to_string();
        let is_constant = name.len() > 2 && name.chars().all(|c| !c.is_lowercase());
        if !is_constant || matches!(name.as_str(), "MAX" | "MIN" | "ALL" | "BOTH" | "ZERO") {
            return;
        }
        let span = path.span();
        for (other, sign) in [(" / 2", "halved"), (" * 2", "doubled")] {
            let changed = vec![Piece::Source(span.byte_range()), text(other)];
            let pieces = choice(changed, span.byte_range());
            self.add("constant", span, pieces, &format!("{name} {sign}"));
        }
    }

    fn arms(&mut self, matched: &syn::ExprMatch) {
        let takes_all =
            |arm: &syn::Arm| arm.guard.is_none() && matches!(arm.pat, syn::Pat::Wild(_));
        let falls = matched.arms.last().is_some_and(takes_all);
        for arm in &matched.arms {
            if let Some((_, guard)) = &arm.guard {
                self.condition(guard);
                continue;
            }
            // Without a last arm for everything else, a match with an arm less does not compile.
            if !falls || takes_all(arm) {
                continue;
            }
            let pattern = arm.pat.span();
            let pieces = vec![
                Piece::Source(pattern.byte_range()),
                text(" if !"),
                Piece::On,
            ];
            self.add("arm left out", pattern, pieces, "(no such arm)");
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        let Stmt::Expr(expr, Some(_)) = statement else {
            return;
        };
        let kinds = matches!(
            expr,
            Expr::MethodCall(_) | Expr::Call(_) | Expr::Assign(_) | Expr::Binary(_) | Expr::Try(_)
        );
        if kinds {
            let span = statement.span();
            let pieces = vec![
                text("if !"),
                Piece::On,
                text(" { "),
                Piece::Source(span.byte_range()),
                text(" }"),
            ];
            self.add("statement left out", span, pieces, "");
        }
    }

    fn body(&mut self, output: &ReturnType, block: &syn::Block) {
        let values: &[&str] = match output {
            ReturnType::Default => &[""],
            ReturnType::Type(_, kind) => match &**kind {
                Type::Path(path) => match path.path.segments.last() {
                    Some(last) => match last.ident.to_string().as_str() {
                        "bool" => &["true", "false"],
                        "Option" => &["None"],
                        "Result" => &["Ok(Default::default())"],
                        "Self" => &[],
                        _ => &["Default::default()"],
                    },
                    None => &[],
                },
                Type::Tuple(_) => &["Default::default()"],
                _ => &[],
            },
        };
        let [Some(first), Some(last)] = [block.stmts.first(), block.stmts.last()] else {
            return;
        };
        let whole = first.span().byte_range().start..last.span().byte_range().end;
        let span = first.span();
        for value in values {
            let Some(function) = self.function.clone() else {
                return;
            };
            self.found.push(Mutant {
                function,
                line: span.start().line,
                operator: "body returns",
                range: whole.clone(),
                pieces: vec![
                    text("if "),
                    Piece::On,
                    text(&format!(" {{ return {value}; }} ")),
                    Piece::Source(whole.clone()),
                ],
                was: short(&self.source[whole.clone()]),
                became: format!("return {value}"),
                constness: self.constness.clone(),
            });
        }
    }

    fn function(
        &mut self,
        attributes: &[Attribute],
        signature: &syn::Signature,
        block: &syn::Block,
    ) {
        let name = signature.ident.to_string();
        if is_test(attributes) || name == "fmt" {
            return;
        }
        let owner = &self.owner;
        let full = if owner.is_empty() {
            name
        } else {
            format!("{owner}::{name}")
        };
        let constness = signature
            .constness
            .as_ref()
            .map(|word| word.span().byte_range());
        let outer = (self.function.replace(full), self.constness.take());
        self.constness = constness;
        self.body(&signature.output, block);
        self.visit_block(block);
        (self.function, self.constness) = outer;
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Fn(ItemFn {
                attrs, sig, block, ..
            }) => {
                let outer = std::mem::take(&mut self.owner);
                self.function(attrs, sig, block);
                self.owner = outer;
            }
            Item::Impl(block) if !is_test(&block.attrs) => {
                let owner = match &*block.self_ty {
                    Type::Path(path) => path.path.segments.last().map(|s| s.ident.to_string()),
                    _ => None,
                };
                let outer = std::mem::replace(&mut self.owner, owner.unwrap_or_default());
                visit::visit_item_impl(self, block);
                self.owner = outer;
            }
            Item::Mod(module) if !is_test(&module.attrs) => visit::visit_item_mod(self, module),
            _ => {}
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}

    fn visit_pat(&mut self, _: &'ast syn::Pat) {}

    fn visit_type(&mut self, _: &'ast Type) {}

    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        self.statement(statement);
        visit::visit_stmt(self, statement);
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Binary(binary) => self.binary(binary),
            Expr::MethodCall(call) => self.method(call),
            Expr::If(chosen) => self.condition(&chosen.cond),
            Expr::Lit(literal) => self.literal(literal),
            Expr::Path(path) => self.path(path),
            Expr::Match(matched) => self.arms(matched),
            Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Not(_)) => {
                let span = unary.span();
                let pieces = vec![
                    text("("),
                    Piece::Source(span.byte_range()),
                    text(" != "),
                    Piece::On,
                    text(")"),
                ];
                let became = self.written(&*unary.expr).to_owned();
                self.add("negation left out", span, pieces, &became);
            }
            // The length of an array is constant.
            Expr::Repeat(repeat) => return self.visit_expr(&repeat.expr),
            Expr::Const(_) => return,
            _ => {}
        }
        visit::visit_expr(self, expr);
    }
}

/// Whether `let` is in a condition: its parts are no values.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        if path.is_ident("test") {
            return true;
        }
        let cfg = path.is_ident("cfg")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|word| word == "test");
        cfg || path
            .segments
            .last()
            .is_some_and(|last| last.ident == "test")
    })
}

/// On one line, and not too long.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= 90 {
        return line;
    }
    let begun: String = line.chars().take(88).collect();
    format!("{begun} …")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::*;

    fn of(source: &str) -> Vec<(String, String, String)> {
        let found = mutants(source).unwrap().into_iter();
        found
            .map(|m| (m.operator.to_owned(), m.was, m.became))
            .collect()
    }

    fn has(source: &str, operator: &str, was: &str, became: &str) -> bool {
        let wanted = (operator.to_owned(), was.to_owned(), became.to_owned());
        of(source).contains(&wanted)
    }

    #[test]
    fn every_kind_of_change_is_found() {
        let source = "fn f(a: u64, b: u64) -> bool { if a < b { g(1); } match a { 3 => true, _ => x.iter().any(|y| !y) } }";
        for (operator, was, became) in [
            ("operator", "a < b", "… <= b"),
            ("condition negated", "a < b", "!(a < b)"),
            ("condition never", "a < b", "false"),
            ("statement left out", "g(1);", ""),
            ("constant", "1", "2"),
            ("arm left out", "3", "(no such arm)"),
            ("method", "x.iter().any(|y| !y)", "….all(…)"),
            ("negation left out", "!y", "y"),
        ] {
            assert!(
                has(source, operator, was, became),
                "{operator}: {:?}",
                of(source)
            );
        }
        assert!(of(source).iter().any(|m| m.2 == "return true"));
    }

    #[test]
    fn tests_constants_and_patterns_are_left_alone() {
        let source = "const A: u64 = 1 + 2;\n#[cfg(test)] mod tests { fn f() { g(1 + 1); } }\n\
                      fn fmt() { g(1); }\n#[test] fn t() { g(1); }";
        assert_eq!(of(source), []);
        assert!(!has(
            "fn f() { if let Some(1) = x && a < b { g(); } }",
            "operator",
            "a",
            "b"
        ));
    }

    #[test]
    fn a_constant_function_names_its_word() {
        let found = mutants("impl X { pub const fn f(&self) -> u64 { self.0 + 1 } }").unwrap();
        let source = "impl X { pub const fn f(&self) -> u64 { self.0 + 1 } }";
        assert!(!found.is_empty());
        for mutant in found {
            assert_eq!(mutant.function, "X::f");
            assert_eq!(&source[mutant.constness.unwrap()], "const");
        }
    }
}
