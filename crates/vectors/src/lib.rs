//! Test vectors of the mathematics of market making, by family: files with a member `family`.
//!
//! Every case is read strictly: unknown content is an error and never skipped. Results are compared within the
//! tolerance in the file. Conventions of pools are those of contracts, circuits and other exchanges; the exchange of
//! this repository has its own.

mod compare;
mod exact;
mod families;
mod input;
#[cfg(test)]
mod tests;
mod tolerance;

use cambist_signing::vectors::{Case, Cases, Json, Node, SHAPES, Shape, VectorError};

use self::compare::{By, Member, Value, compare};
use self::input::Input;
use self::tolerance::Tolerance;

/// Context of a case besides its input.
struct Context<'a> {
    file: &'a Node<'a>,
    case: &'a Node<'a>,
    tolerance: &'a Tolerance,
}

/// Results of a case.
struct Computed {
    /// Compared with the case's `out`.
    out: Value,
    /// Compared with the case's `published`.
    published: Published,
    /// Compared with other members of the case, which may be absent.
    beside: Vec<Member>,
}

/// How a case's `published` is compared.
enum Published {
    /// The family has no published values.
    Nothing,
    /// With this value.
    As(Value),
}

impl Computed {
    /// Only `out`; published values have the same names and tolerance.
    fn new(out: impl Into<Value>) -> Self {
        Self {
            out: out.into(),
            published: Published::Nothing,
            beside: Vec::new(),
        }
    }

    fn published(mut self, value: impl Into<Value>) -> Self {
        self.published = Published::As(value.into());
        self
    }

    fn beside(mut self, member: Member) -> Self {
        self.beside.push(member.optional());
        self
    }
}

/// A family of vectors.
struct Family {
    /// Value of the file's member `family`.
    name: &'static str,
    /// Members of a case that are descriptions.
    notes: &'static [&'static str],
    /// Computes a case.
    compute: fn(&Input<'_>, &Context<'_>) -> Result<Computed, VectorError>,
}

/// Members that are descriptions in every family.
const NOTES: [&str; 4] = ["published_source", "note", "data", "truth"];

/// All shapes of `cambist vectors`: the interface's own, then the families.
pub fn shapes() -> Vec<Shape> {
    SHAPES.into_iter().chain(families::shapes()).collect()
}

fn is_family(json: &Json, family: &str) -> bool {
    matches!(json.get("family"), Some(Json::Text(text)) if text == family)
}

/// Evaluates all cases of a file.
fn evaluate(file: &Node<'_>, cases: &mut Cases, family: &Family) -> Result<(), VectorError> {
    let tolerance = Tolerance::read(file)?;
    for (name, value) in file.members()? {
        let is_known = matches!(name.as_str(), "n_cases" | "cases" | "tolerance");
        if !is_known && !matches!(value, Json::Text(_)) {
            let stranger = file.present(name).unwrap_or_else(|| file.clone());
            return Err(stranger.malformed("no member of that name"));
        }
    }
    let list = file.get("cases")?;
    let stated: usize = file.get("n_cases")?.integer()?;
    if stated != list.items()?.len() {
        return Err(file.get("n_cases")?.malformed("the number of cases"));
    }
    let mut names = std::collections::BTreeSet::new();
    for node in list.items()? {
        let id = node.get("id")?;
        if !names.insert(id.text()?) {
            return Err(id.malformed("a name that no other case has"));
        }
    }
    list.each(cases, |node, case| {
        let context = Context {
            file,
            case: node,
            tolerance: &tolerance,
        };
        one(case, family, &context)
    })
}

fn one(case: &mut Case, family: &Family, context: &Context<'_>) -> Result<(), VectorError> {
    let node = context.case;
    let input = Input::new(node.get("in")?)?;
    let computed = (family.compute)(&input, context)?;
    input.finish()?;
    let by = |is_counted| By {
        tolerance: context.tolerance,
        is_counted,
    };
    for (name, _) in node.members()? {
        let Some(stated) = node.present(name) else {
            continue;
        };
        let beside = computed.beside.iter().find(|member| member.is_named(name));
        match (name.as_str(), &computed.published, beside) {
            ("id" | "in", ..) => {}
            ("out", ..) => compare(case, &stated, &computed.out, by(true))?,
            ("published", Published::As(value), _) => compare(case, &stated, value, by(false))?,
            (_, _, Some(member)) => compare(case, &stated, member.value(), by(false))?,
            (name, ..) if NOTES.contains(&name) || family.notes.contains(&name) => {}
            _ => return Err(stated.malformed("no member of that name")),
        }
    }
    node.get("out").map(|_| ())
}
