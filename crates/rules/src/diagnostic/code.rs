//! The table of diagnostic codes, which `vestibule explain` prints.

use super::Severity;

/// One kind of finding.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// `VST0101`. It never changes its meaning.
    pub id: &'static str,
    /// The title in one line.
    pub title: &'static str,
    pub(crate) severity: Severity,
}

impl Code {
    /// One paragraph: the reason for the finding, and the solution.
    pub fn explanation(&self) -> &'static str {
        self.section().split("\n\n```yaml\n").next().unwrap_or_default().trim_end()
    }

    /// A text that leads to the finding, if a short one exists.
    pub fn example(&self) -> Option<&'static str> {
        let (_, example) = self.section().split_once("```yaml\n")?;
        example.split("```").next()
    }

    /// The text about this code, without its heading.
    fn section(&self) -> &'static str {
        const TEXT: &str = include_str!("codes.md");
        let mut sections = TEXT.split("\n## ").filter_map(|section| section.split_once("\n\n"));
        sections.find(|(heading, _)| heading.starts_with(self.id)).map_or("", |(_, text)| text)
    }
}

macro_rules! codes {
    ($($name:ident = $id:literal, $title:literal $(, $severity:ident)?;)*) => {
        $(
            #[doc = $title]
            pub static $name: Code = Code { id: $id, title: $title, severity: codes!(@ $($severity)?) };
        )*

        /// Every code, in the order of its number.
        pub static CODES: &[&Code] = &[$(&$name),*];
    };
    (@) => { Severity::Error };
    (@ $severity:ident) => { Severity::$severity };
}

// The explanations and the examples are in `codes.md`. Findings are errors where nothing else is said.
codes! {
    SYNTAX = "VST0101", "the text is not YAML";
    DUPLICATE_KEY = "VST0102", "a duplicate key in a map";
    TAG = "VST0103", "a tag";
    ALIAS = "VST0104", "an alias that cannot be expanded";
    TOO_DEEP = "VST0105", "nested too deeply";
    KEY_SHAPE = "VST0106", "a key that is not text";
    TOO_LARGE = "VST0107", "too many values";
    NO_OBJECT = "VST0108", "not a Kubernetes object";
    TOO_MANY_FINDINGS = "VST0109", "more findings than are shown";
    UNKNOWN_FIELD = "VST0110", "an unknown field";
    WRONG_TYPE = "VST0111", "a value of the wrong kind";
    MISSING_FIELD = "VST0112", "a required field is missing";
    WRONG_VALUE = "VST0113", "a value that is not allowed";
    NOT_SUPPORTED = "VST0114", "not supported yet";
    WRONG_KIND = "VST0115", "not a rule document";
    DUPLICATE_NAME = "VST0116", "a name is used twice";
    NULL = "VST0117", "a null";
    UNKNOWN_POD_FIELD = "VST0118", "an unknown field of a pod", Warning;
    MATCHES_EVERY_POD = "VST0119", "a rule for every pod of the cluster";
    EMPTY_RULE = "VST0120", "a rule that changes nothing";
    DUPLICATE_MOUNT = "VST0121", "a path is mounted twice";
    REQUIRED_SKIPS = "VST0122", "a required rule that may be skipped";
    FEEDBACK = "VST0123", "a rule writes what a rule reads";
    RENAMED = "VST0124", "a field by its former name";
    EXPRESSION_SYNTAX = "VST0130", "an expression that cannot be read";
    UNKNOWN_NAME = "VST0131", "an unknown name in an expression";
    UNKNOWN_FUNCTION = "VST0132", "an unknown function, or one that is called differently";
    EXPRESSION_SIZE = "VST0133", "an expression that is too long or too deep";
    UNKNOWN_KEYWORD = "VST0134", "an unknown word that starts with `$`";
    EXPRESSION_PLACE = "VST0135", "an expression that is not allowed in this place";
    BAD_PARAMETER = "VST0136", "a parameter that cannot be used";
    BAD_PATTERN = "VST0137", "a pattern that cannot be used";
    SAME_ITEMS = "VST0138", "a loop whose items are all the same";
    EXPRESSION_TYPE = "VST0140", "an expression of the wrong type";
    CLOSED_LIST = "VST0150", "an atomic list";
    NOTHING_TO_REPLACE = "VST0151", "nothing to replace";
    MISPLACED_FIELD = "VST0152", "a field that belongs elsewhere in the rule";
    RESERVED = "VST0153", "the injector's own annotation";
    ANCHOR_CYCLE = "VST0154", "positions that contradict each other";
    PROFILE = "VST0155", "a security profile for Windows";
    REMOVES_WRITTEN = "VST0156", "a rule removes what a rule adds";
    OTHER_LIST = "VST0157", "a position in a list that the container does not join";
    CONTROLLER_LABEL = "VST0158", "a label by which controllers find their pods";
    DUPLICATE_SETTINGS = "VST0165", "duplicate settings";
    EMPTY_EXEMPTION = "VST0166", "an exemption without a condition";
    UNSEEN_OWNER = "VST0167", "an owner that pods never name";
    UNSTABLE = "VST0175", "a rule that never comes to rest";
    NOT_A_STRING = "VST0180", "a label or annotation that is not a string";
    REQUIRED_EVERYWHERE = "VST0190", "a required rule without a restriction to namespaces";
    REQUIRED_IN_OWN_NAMESPACE = "VST0191", "a required rule that may match the injector's own namespace";
    NAMESPACED_PART = "VST0192", "a part that a rule of a namespace may not have";
    NAMESPACED_PLACE = "VST0193", "a rule of a namespace that cannot be in force";
    NO_REQUESTS = "VST0200", "a container without requests", Hint;
    NO_STARTUP_PROBE = "VST0201", "a native sidecar without a startup probe", Hint;
    UNRESOLVED = "VST0202", "a reference to an unknown variable", Warning;
    FLOATING_IMAGE = "VST0203", "an image without a version", Hint;
    OVERRIDDEN_TWICE = "VST0204", "two rules override one key", Warning;
    REMOVED_IN_USE = "VST0205", "something removed that is still needed", Warning;
    REQUIRED_BROADLY = "VST0206", "a required rule for many pods", Warning;
    UNUSED = "VST0207", "a name that is never used", Hint;
    WRITABLE_SECRET = "VST0208", "a secret that is not mounted read-only", Hint;
    NODE_ACCESS = "VST0209", "a rule that gives access to the node", Warning;
    MATCHES_NO_NAMESPACE = "VST0210", "a rule that matches no namespace", Warning;
    POLICY_SUFFICES = "VST0211", "a MutatingAdmissionPolicy would suffice", Hint;
    TEMPLATE_TEXT = "VST0212", "a placeholder of another template language", Hint;
    REFUSED_FIELDS = "VST0213", "fields that the API server refuses", Warning;
    MOUNTED_TOKEN = "VST0214", "a service account token that stays mounted", Warning;
    KEPT_DEFAULT = "VST0215", "a field that pods have already", Warning;
}
