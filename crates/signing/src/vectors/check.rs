//! Compares the values of a file with computed ones, and counts the results.

use super::{FileReport, Node, VectorError};
use crate::address::Address;
use crate::field::Field;
use crate::signature::Signature;

/// The distance between a computed number and the stated one.
#[derive(Clone, PartialEq, Debug)]
pub struct Deviation {
    /// The distance.
    pub error: f64,
    /// The largest distance that the file allows.
    pub allowed: f64,
    /// File and place.
    pub path: String,
}

impl Deviation {
    /// The distance as a fraction of what is allowed; infinite if it is not a number.
    pub fn share(&self) -> f64 {
        if self.error == 0.0 {
            0.0
        } else {
            let share = self.error / self.allowed;
            if share.is_nan() { f64::INFINITY } else { share }
        }
    }

    /// The farther of two.
    fn worse(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) if other.share() > one.share() => Some(other),
            (None, other) => other,
            (one, _) => one,
        }
    }
}

/// The outcome of one case.
#[derive(Default, Debug)]
pub struct Case {
    failure: Option<String>,
    reported: bool,
    worst: Option<Deviation>,
}

impl Case {
    /// The text at `node` must be exactly `computed`. Any other value there is a difference.
    pub fn same(&mut self, node: &Node<'_>, computed: &str) {
        let stated = node.text().unwrap_or("neither text nor a number");
        self.require(stated == computed, node, || {
            format!("the file has {stated}, computed {computed}")
        });
    }

    /// The text of the required member must be exactly `computed`.
    ///
    /// # Errors
    /// [`VectorError::Missing`].
    pub fn member(
        &mut self,
        node: &Node<'_>,
        name: &str,
        computed: &str,
    ) -> Result<(), VectorError> {
        self.same(&node.get(name)?, computed);
        Ok(())
    }

    /// The required member must be this truth value.
    ///
    /// # Errors
    /// [`VectorError::Missing`].
    pub fn flag(&mut self, node: &Node<'_>, name: &str, computed: bool) -> Result<(), VectorError> {
        let node = node.get(name)?;
        self.require(node.flag() == Ok(computed), &node, || {
            format!("computed {computed}")
        });
        Ok(())
    }

    /// The required member must be the same number in hexadecimal digits, however many zeros lead it.
    ///
    /// # Errors
    /// [`VectorError::Missing`].
    pub fn number(
        &mut self,
        node: &Node<'_>,
        name: &str,
        computed: Field,
    ) -> Result<(), VectorError> {
        let node = node.get(name)?;
        self.require(node.hex() == Ok(computed), &node, || {
            format!("computed {computed}")
        });
        Ok(())
    }

    /// The required member must be this address; mixed case must be its checksum.
    ///
    /// # Errors
    /// [`VectorError::Missing`].
    pub fn address(
        &mut self,
        node: &Node<'_>,
        name: &str,
        computed: &Address,
    ) -> Result<(), VectorError> {
        let node = node.get(name)?;
        let stated = node
            .text()
            .ok()
            .and_then(|text| Address::from_checked_hex(text).ok());
        self.require(stated == Some(*computed), &node, || {
            format!("computed {computed}")
        });
        Ok(())
    }

    /// The required member must be this address in any case of letters.
    ///
    /// # Errors
    /// [`VectorError::Missing`].
    pub fn same_address(
        &mut self,
        node: &Node<'_>,
        name: &str,
        computed: &Address,
    ) -> Result<(), VectorError> {
        let node = node.get(name)?;
        self.require(node.address() == Ok(*computed), &node, || {
            format!("computed {computed}")
        });
        Ok(())
    }

    /// The list at the required member must hold exactly these texts.
    ///
    /// # Errors
    /// [`VectorError::Missing`].
    pub fn list(
        &mut self,
        node: &Node<'_>,
        name: &str,
        computed: &[String],
    ) -> Result<(), VectorError> {
        let node = node.get(name)?;
        let items = node.items().unwrap_or_default();
        self.require(items.len() == computed.len(), &node, || {
            format!("{} elements computed", computed.len())
        });
        for (item, computed) in items.iter().zip(computed) {
            self.same(item, computed);
        }
        Ok(())
    }

    /// The members Rx, Ry, S must be the parts of this signature.
    ///
    /// # Errors
    /// [`VectorError::Missing`].
    pub fn signature_parts(
        &mut self,
        node: &Node<'_>,
        computed: &Signature,
    ) -> Result<(), VectorError> {
        self.member(node, "Rx", &computed.rx().to_hex())?;
        self.member(node, "Ry", &computed.ry().to_hex())?;
        self.member(node, "S", &computed.s().to_hex())
    }

    /// The number at `node` must be at most `allowed` away from `computed`. Any other value there, and a
    /// number that is none, is a difference.
    pub fn near(&mut self, node: &Node<'_>, computed: f64, allowed: f64) {
        let stated = node.float().unwrap_or(f64::NAN);
        let error = (stated - computed).abs();
        self.require(error <= allowed, node, || {
            let stated = node.text().unwrap_or("no number");
            format!("the file has {stated}, computed {computed:?}, allowed {allowed:e}")
        });
        let seen = Deviation {
            error,
            allowed,
            path: node.path().to_owned(),
        };
        self.worst = Deviation::worse(self.worst.take(), Some(seen));
    }

    /// A condition on the value at `node`; `difference` describes the failure if it does not hold.
    pub fn require(&mut self, holds: bool, node: &Node<'_>, difference: impl FnOnce() -> String) {
        if !holds && self.failure.is_none() {
            self.failure = Some(format!("{}: {}", node.path(), difference()));
        }
    }

    /// The file leaves the result to the implementation: the case counts as reported, not as passed.
    pub fn report_only(&mut self) {
        self.reported = true;
    }
}

/// The outcomes of all cases of a file.
#[derive(Default, Debug)]
pub struct Cases {
    passed: usize,
    failed: usize,
    reported: usize,
    first_failure: Option<String>,
    worst: Option<Deviation>,
}

impl Cases {
    /// Counts one case.
    pub fn add(&mut self, case: Case) {
        self.worst = Deviation::worse(self.worst.take(), case.worst);
        match (case.failure, case.reported) {
            (Some(failure), _) => {
                self.failed += 1;
                self.first_failure.get_or_insert(failure);
            }
            (None, true) => self.reported += 1,
            (None, false) => self.passed += 1,
        }
    }

    /// Cases counted so far.
    pub fn count(&self) -> usize {
        self.passed + self.failed + self.reported
    }

    pub(super) fn into_report(self, shape: &'static str) -> FileReport {
        FileReport {
            shape,
            cases: self.count(),
            passed: self.passed,
            failed: self.failed,
            reported: self.reported,
            first_failure: self.first_failure,
            worst: self.worst,
        }
    }
}
