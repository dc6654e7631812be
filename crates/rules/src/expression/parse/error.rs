/// Why a text is no expression, and the byte at which the parser stopped.
pub(in crate::expression) struct SyntaxError {
    pub(in crate::expression) at: usize,
    /// `None` where the text is too long or nests too deeply.
    pub(in crate::expression) message: Option<String>,
}

impl SyntaxError {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: Some(message.into()) }
    }

    pub(super) fn too_large(at: usize) -> Self {
        Self { at, message: None }
    }
}
