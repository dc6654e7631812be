/// Why an expression has no value. The message names parts of the expression and never quotes values.
#[derive(Clone, Debug)]
pub(crate) enum EvaluationError {
    Failed(String),
    /// The budget is used up.
    BudgetExceeded {
        /// Whether it is the budget that all rules share, and not the budget of one rule.
        shared: bool,
        ticks: u64,
    },
}

impl EvaluationError {
    pub(crate) fn failed(sentence: impl Into<String>) -> Self {
        Self::Failed(sentence.into())
    }

    /// The error of a function that got an argument of the wrong type.
    pub(super) fn mistyped(function: &str, wanted: &str) -> Self {
        Self::failed(format!("`{function}` wants {wanted}"))
    }

    /// The error of a function that got arguments which it has no result for.
    pub(super) fn refused(function: &str) -> Self {
        Self::failed(format!("`{function}` cannot take what it is given"))
    }

    /// The error of an expression that names `variable`, whose expression failed.
    pub(super) fn within(self, variable: &str) -> Self {
        match self {
            Self::Failed(sentence) => Self::Failed(format!("variable `{variable}`: {sentence}")),
            exhausted @ Self::BudgetExceeded { .. } => exhausted,
        }
    }

    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Failed(sentence) => sentence.clone(),
            Self::BudgetExceeded { shared: false, ticks } => {
                format!("the expressions of the rule need more than {ticks} ticks")
            }
            Self::BudgetExceeded { shared: true, ticks } => {
                format!("the expressions of all rules together need more than {ticks} ticks")
            }
        }
    }
}
