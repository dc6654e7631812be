/// Why the evaluation of rules that read the object does not end.
#[derive(Clone, Copy)]
pub(crate) enum Unsettled {
    /// Every evaluation would change the object again.
    Restless,
    /// The rules wait for each other for more turns than an evaluation has.
    Exhausted,
}

impl Unsettled {
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Restless => {
                "every evaluation would change the object again, since expressions read what rules write"
            }
            Self::Exhausted => "the rules wait for each other longer than an evaluation of so many may take",
        }
    }
}
