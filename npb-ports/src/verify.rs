//! Verification: computed values against the reference values of the definition.

/// One computed value beside its reference value.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What the value is, as a reader of the definition would call it.
    pub name: String,
    /// What came out.
    pub computed: f64,
    /// What the definition demands.
    pub reference: f64,
    /// Distance of the two relative to the reference; zero for equal values, even if both are zero.
    pub error: f64,
    /// The largest error that passes.
    pub tolerance: f64,
}

impl Check {
    /// Whether the value is close enough; never if it is not a number.
    pub fn passed(&self) -> bool {
        // Written so that NaN, which is not below anything, fails.
        self.error <= self.tolerance
    }
}

/// All checks of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verification {
    checks: Vec<Check>,
}

impl Verification {
    /// No checks yet; a verification without any does not pass.
    pub fn new() -> Self {
        Self::default()
    }

    /// Demands that `computed` differ from `reference` by at most `tolerance`, relative to `reference`.
    pub fn relative(&mut self, name: impl Into<String>, computed: f64, reference: f64, tolerance: f64) -> &mut Self {
        let error = if computed == reference { 0.0 } else { ((computed - reference) / reference).abs() };
        self.with_error(name, computed, reference, error, tolerance)
    }

    /// Demands `error <= tolerance`, for errors that are measured in another way (of complex numbers, say).
    pub fn with_error(
        &mut self,
        name: impl Into<String>,
        computed: f64,
        reference: f64,
        error: f64,
        tolerance: f64,
    ) -> &mut Self {
        self.checks.push(Check { name: name.into(), computed, reference, error, tolerance });
        self
    }

    /// Demands that two counts be equal.
    pub fn equal(&mut self, name: impl Into<String>, computed: u64, reference: u64) -> &mut Self {
        self.relative(name, computed as f64, reference as f64, 0.0)
    }

    /// The checks made, in order.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Whether there were checks and all passed.
    pub fn passed(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(Check::passed)
    }
}

#[cfg(test)]
mod tests {
    use super::Verification;

    fn passes(computed: f64, reference: f64) -> bool {
        Verification::new().relative("value", computed, reference, 1e-8).passed()
    }

    #[test]
    fn the_tolerance_is_relative() {
        assert!(passes(1.0e20 + 1.0e11, 1.0e20));
        assert!(!passes(1.0e20 + 1.0e13, 1.0e20));
        assert!(passes(-2.0, -2.0));
        assert!(!passes(2.0, -2.0));
    }

    #[test]
    fn what_is_not_a_number_fails() {
        assert!(!passes(f64::NAN, 1.0));
        assert!(!passes(f64::INFINITY, 1.0));
        assert!(!passes(1.0, f64::NAN));
    }

    #[test]
    fn one_failure_or_no_check_at_all_is_a_failure() {
        assert!(!Verification::new().passed());
        let mut verification = Verification::new();
        assert!(verification.relative("good", 1.0, 1.0, 0.0).passed());
        assert!(!verification.equal("bad", 3, 4).passed());
    }
}
