//! The table of codes: what `explain` prints.

/// One kind of finding.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// `VST0101`: stable, searchable.
    pub id: &'static str,
    /// One line.
    pub title: &'static str,
    /// One paragraph: why it is one, and what to do.
    pub explanation: &'static str,
}

macro_rules! codes {
    ($($name:ident = $id:literal, $title:literal, $explanation:literal;)*) => {
        $(pub(crate) static $name: Code = Code { id: $id, title: $title, explanation: $explanation };)*

        /// Every code, in the order of its number.
        pub static CODES: &[&Code] = &[$(&$name),*];
    };
}

codes! {
    SYNTAX = "VST0101", "the text is no YAML",
        "The text breaks YAML's own grammar, so that nothing can be said about what it means. The caret stands where the \
         reader gave up; the cause is often an indentation, a tab or an unclosed quote a little above. JSON is YAML too.";
    DOUBLED_KEY = "VST0102", "a key stands twice in one map",
        "YAML forbids a key that appears twice in one map, and readers disagree which of the two counts. Take one away.";
    TAG = "VST0103", "a tag",
        "Tags such as `!!str` or `!Ref` change how a value is read, and the API server knows none of them. Write the value \
         itself; quote it if it must be text.";
    ALIAS = "VST0104", "an alias that cannot be expanded",
        "An alias (`*name`) is replaced by a copy of what the anchor (`&name`) marks. This one stands inside its own anchor, \
         or all copies together grow beyond what a document may hold. Write the repeated part out.";
    TOO_DEEP = "VST0105", "nested too deeply",
        "No Kubernetes object comes near 128 levels of nesting. The limit keeps hostile documents from exhausting the stack.";
    KEY_SHAPE = "VST0106", "a key that is no text",
        "Keys are plain words here, because a document ends as a JSON object. Lists and maps as keys, and the merge key \
         `<<`, are not read: write the fields out.";
    TOO_LARGE = "VST0107", "too many values",
        "One source holds more values than any rule or object needs. Split it into several.";

    UNKNOWN_FIELD = "VST0110", "an unknown field",
        "The rule format has no field of this name. Rules are read strictly, because a misspelt field that is silently \
         ignored becomes a pod without its sidecar. Inside fragments of a pod only near misses of known fields are errors.";
    WRONG_TYPE = "VST0111", "a value of the wrong kind",
        "The field wants another kind of value: a list where there is a map, text where there is a list, and so on. A single \
         item of a list still needs its dash.";
    MISSING_FIELD = "VST0112", "a required field is missing",
        "The rule cannot work without this field.";
    WRONG_VALUE = "VST0113", "a value that is not among the possible ones",
        "The field takes one of few words, and this is none of them; or the API server would refuse the value in a pod: a \
         label of more than 63 characters, a container name with an underscore, a quantity that is none.";
    NOT_SUPPORTED = "VST0114", "not supported yet",
        "The field belongs to the rule format, but this version cannot act on it. It is refused rather than ignored, so that \
         nobody relies on what does not happen.";
    WRONG_KIND = "VST0115", "not a document of ours",
        "A rule document starts with `apiVersion: vestibule.dev/v1alpha1` and `kind: Injection`. Other objects do not belong \
         into a folder of rules.";
    DOUBLED_NAME = "VST0116", "a name is used twice",
        "Rules are told apart by their names, in messages, opt-in keys and metrics; containers, volumes, variables, ports and \
         mount paths within a rule must be unique as well. Rename one.";
    NULL = "VST0117", "a null",
        "A null says neither a value nor its absence. Leave the field out, or write `\"\"` for an empty text.";
    UNKNOWN_POD_FIELD = "VST0118", "a field that pods are not known to have",
        "The field is kept as it is, because the cluster may be newer than this program. If the API server does not know it \
         either, it drops the field.";
    ADDRESSES_NOBODY = "VST0119", "a rule for every pod of the cluster",
        "A rule with `optIn: always` (the default) has to name the namespaces or the labels it is for. Without that it \
         would change every pod of the cluster, which is hardly ever meant.";
    EMPTY_RULE = "VST0120", "a rule that changes nothing",
        "The rule names nothing to add: no sidecars, init containers, volumes, labels, annotations, nor blocks for containers.";
    DOUBLED_MOUNT = "VST0121", "a path is mounted twice",
        "Two mounts of one container have the same mountPath, which the API server refuses. Mount paths are compared without \
         a trailing `/`.";
    REQUIRED_SKIPS = "VST0122", "a required rule that may be skipped",
        "`required: true` denies pods that the rule fails to change; `skipRule` and `onError: skip` let them pass. Choose one.";
    FEEDBACK = "VST0123", "a rule writes what a rule reads",
        "`match` and the opt-in keys read labels and annotations. If a rule writes one of them, the second evaluation of the \
         same pod comes out differently from the first, and the API server does evaluate twice. Use another key.";

    CLOSED_LIST = "VST0150", "a list that is one value",
        "The API server takes this list for one value, such as the arguments of a program: an item added to the user's list \
         would change what the others mean. The rule can only replace all of it: name the field in `replace`, beside it. \
         Inside of what a rule adds as a whole, such as a sidecar, every list is free.";
    NOTHING_TO_REPLACE = "VST0151", "nothing to replace",
        "`replace` names fields that stand beside it in the same map and may take the place of the user's. This one does not \
         stand there.";
    ELSEWHERE = "VST0152", "a field that has a place of its own",
        "`pod.spec` takes the fields of a pod's specification, but containers, volumes and the secrets for images have their \
         own places in a rule, because they are added item by item.";
    DOUBLED_SETTINGS = "VST0165", "settings twice",
        "One document of kind `InjectorSettings` speaks for the whole injector. Of two of them nobody could say which counts: \
         put everything into one.";
    EMPTY_EXEMPTION = "VST0166", "an exemption without a condition",
        "An exemption takes away from all rules whatever meets every one of its conditions. Without any condition that is \
         everything. Name `namespaces`, `namespaceLabels`, `objectLabels` or `users`; to switch the injector off, set \
         `mode: off`.";
}
