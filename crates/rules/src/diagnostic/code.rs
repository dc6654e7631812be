//! The table of diagnostic codes, which `vestibule explain` prints.

/// One kind of finding.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// `VST0101`. It never changes its meaning.
    pub id: &'static str,
    /// The title in one line.
    pub title: &'static str,
    /// One paragraph: the reason for the finding, and the solution.
    pub explanation: &'static str,
    example: Option<Example>,
}

/// An example that leads to the finding.
#[derive(Debug, PartialEq, Eq)]
enum Example {
    /// The text of a source.
    Text(&'static str),
    /// Documents without their `apiVersion`.
    Documents(&'static str),
    /// Lines of a rule's `spec`.
    Spec(&'static str),
}

impl Code {
    /// A text that leads to the finding, if a short one exists.
    pub fn example(&self) -> Option<String> {
        match self.example.as_ref()? {
            Example::Text(text) => Some((*text).to_owned()),
            Example::Documents(text) => {
                Some(text.replace("kind: ", concat!("apiVersion: ", api_version!(), "\nkind: ")))
            }
            Example::Spec(lines) => {
                let head = concat!(
                    "apiVersion: ",
                    api_version!(),
                    "\nkind: Injection\nmetadata: {name: example}\nspec:\n  optIn: pod\n"
                );
                let lines = lines.lines().map(|line| format!("  {line}\n"));
                Some(head.to_owned() + &lines.collect::<String>())
            }
        }
    }
}

/// `NAME = id, title, explanation, Text|Documents|Spec example;`
macro_rules! codes {
    ($($name:ident = $id:literal, $title:literal, $explanation:expr $(, $form:ident $example:expr)?;)*) => {
        $(
            #[doc = $title]
            pub static $name: Code = Code {
                id: $id,
                title: $title,
                explanation: $explanation,
                example: codes!(@ $($form $example)?),
            };
        )*

        /// Every code, in the order of its number.
        pub static CODES: &[&Code] = &[$(&$name),*];
    };
    (@) => { None };
    (@ $form:ident $example:expr) => { Some(Example::$form($example)) };
}

codes! {
    SYNTAX = "VST0101", "the text is no YAML",
        "The text breaks YAML's own grammar, so that nothing can be said about what it means. The caret stands where the \
         reader gave up; the cause is often an indentation, a tab or an unclosed quote a little above. JSON is YAML too.",
        Text "spec: [1, 2\n";
    DUPLICATE_KEY = "VST0102", "a key stands twice in one map",
        "YAML forbids a key that appears twice in one map, and readers disagree which of the two counts. Take one away.",
        Spec "order: 1\norder: 2";
    TAG = "VST0103", "a tag",
        "Tags such as `!!str` or `!Ref` change how a value is read, and the API server knows none of them. Write the value \
         itself; quote it if it must be text.",
        Spec "order: !!int 1";
    ALIAS = "VST0104", "an alias that cannot be expanded",
        "An alias (`*name`) is replaced by a copy of what the anchor (`&name`) marks. This one stands inside its own anchor, \
         or all copies together grow beyond what a document may hold. Write the repeated part out.",
        Text "spec: &all [*all]\n";
    TOO_DEEP = "VST0105", "nested too deeply",
        "No Kubernetes object comes near 128 levels of nesting. The limit keeps hostile documents from exhausting the stack.",
        Text "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n";
    KEY_SHAPE = "VST0106", "a key that is no text",
        "Keys are plain words here, because a document ends as a JSON object. Lists and maps as keys, and the merge key \
         `<<`, are not read: write the fields out.",
        Spec "<<: {order: 1}";
    TOO_LARGE = "VST0107", "too many values",
        "One source holds more values than any rule or object needs. Split it into several.";

    NO_OBJECT = "VST0108", "not a Kubernetes object",
        "Every object says what it is by `apiVersion` and `kind`. Files of values, such as Helm's, and templates that were not \
         rendered are no objects: render them first.";

    TOO_MANY_FINDINGS = "VST0109", "more findings than are shown",
        "Only the first 200 findings are told. Most of the others may have the same cause: mend what is shown, and ask again.";

    UNKNOWN_FIELD = "VST0110", "an unknown field",
        "The rule format has no field of this name. Rules are read strictly, because a misspelt field that is silently \
         ignored becomes a pod without its sidecar. Inside fragments of a pod only near misses of known fields are errors.",
        Spec "sidecars:\n- name: proxy\n  image: proxy:1\n  volumeMount: []";
    WRONG_TYPE = "VST0111", "a value of the wrong kind",
        "The field wants another kind of value: a list where there is a map, text where there is a list, and so on. A single \
         item of a list still needs its dash.",
        Spec "sidecars: {name: proxy, image: 'proxy:1'}";
    MISSING_FIELD = "VST0112", "a required field is missing",
        "The rule cannot work without this field.",
        Spec "containers:\n- env: [{name: TARGET, value: you}]";
    WRONG_VALUE = "VST0113", "a value that is not among the possible ones",
        "The field takes one of few words, and this is none of them; or the API server would refuse the value in a pod: a \
         label of more than 63 characters, a container name with an underscore, a quantity that is none.",
        Spec "onConflict: replace";
    NOT_SUPPORTED = "VST0114", "not supported yet",
        "The field belongs to the rule format, but this version cannot act on it. It is refused rather than ignored, so that \
         nobody relies on what does not happen.",
        Spec "lookups: []";
    WRONG_KIND = "VST0115", "not a document of ours",
        concat!("A rule document starts with `apiVersion: ", api_version!(), "` and `kind: Injection`. Other objects do not \
         belong into a folder of rules."),
        Text "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rules}\n";
    DUPLICATE_NAME = "VST0116", "a name is used twice",
        "Rules are told apart by their names, in messages, opt-in keys and metrics; containers, volumes, variables, ports and \
         mount paths within a rule must be unique as well. Rename one.",
        Spec "volumes:\n- {name: certs, emptyDir: {}}\n- {name: certs, emptyDir: {}}";
    NULL = "VST0117", "a null",
        "A null says neither a value nor its absence. Leave the field out, or write `\"\"` for an empty text.",
        Spec "order: null";
    UNKNOWN_POD_FIELD = "VST0118", "a field that pods are not known to have",
        "The field is kept as it is, because the cluster may be newer than this program. If the API server does not know it \
         either, it drops the field.",
        Spec "sidecars: [{name: proxy, image: 'proxy:1', brandNew: 1}]";
    MATCHES_EVERY_POD = "VST0119", "a rule for every pod of the cluster",
        "A rule with `optIn: always` (the default) has to name the namespaces or the labels it is for. Without that it \
         would change every pod of the cluster, which is hardly ever meant.",
        Documents "kind: Injection\nmetadata: {name: example}\nspec:\n  pod: {labels: {team: blue}}\n";
    EMPTY_RULE = "VST0120", "a rule that changes nothing",
        "The rule names nothing to add: no sidecars, init containers, volumes, labels, annotations, nor blocks for containers.",
        Spec "order: 1";
    DUPLICATE_MOUNT = "VST0121", "a path is mounted twice",
        "Two mounts of one container have the same mountPath, which the API server refuses. Mount paths are compared without \
         a trailing `/`.",
        Spec "containers:\n- select: {all: true}\n  volumeMounts:\n  - {name: certs, mountPath: /certs}\n  - {name: keys, mountPath: /certs/}";
    REQUIRED_SKIPS = "VST0122", "a required rule that may be skipped",
        "`required: true` denies pods that the rule fails to change; `skipRule` and `onError: skip` let them pass. Choose one.",
        Spec "required: true\nonError: skip\npod: {labels: {team: blue}}";
    FEEDBACK = "VST0123", "a rule writes what a rule reads",
        "`match` and the opt-in keys read labels and annotations. If a rule writes one of them, the second evaluation of the \
         same pod comes out differently from the first, and the API server does evaluate twice. Use another key.",
        Spec concat!("pod: {labels: {", group!(), "/inject: 'true'}}");


    EXPRESSION_SYNTAX = "VST0130", "an expression that cannot be read",
        "Expressions are written in the Common Expression Language, as in policies of Kubernetes. The caret stands where the \
         reader gave up. Inside YAML's plain style `: ` and ` #` end the text: put the expression into quotes.",
        Spec "when: ['1 +']\npod: {labels: {a: b}}";
    UNKNOWN_NAME = "VST0131", "a name that expressions do not know",
        "Expressions see object, oldObject, request, namespaceObject, owner, the rule's parameters as params.NAME and its \
         variables as variables.NAME, each variable those before it.",
        Spec "when: [has(objct.spec)]\npod: {labels: {a: b}}";
    UNKNOWN_FUNCTION = "VST0132", "a function that is not there, or is called otherwise",
        "Functions have the names that the API server gives them, and some stand behind a dot while others do not: \
         `size(x)` and `x.size()`, but only `quantity(x)` and `x.startsWith(y)`. There are none that know the time.",
        Spec "when: [request.name.startWith('a')]\npod: {labels: {a: b}}";
    EXPRESSION_SIZE = "VST0133", "an expression that is too long or too deep",
        "An expression has at most 8 KiB, 32 brackets inside each other, and 400 steps (operators, dots, brackets, calls) \
         inside each other, where a variable counts as deep as its own expression: evaluation descends as deep, and a \
         thread's stack ends. Cut a long one into `variables`; of a deep one let fewer steps build on each other.",
        Spec "when: ['(((((((((((((((((((((((((((((((((true)))))))))))))))))))))))))))))))))']\npod: {labels: {a: b}}";
    UNKNOWN_KEYWORD = "VST0134", "an unknown word that starts with `$`",
        "A map whose only key is `$cel` is an expression; no other key starts with `$`, and none stands beside it.",
        Spec "pod: {labels: {a: {$sel: owner.name}}}";
    EXPRESSION_PLACE = "VST0135", "an expression where none can stand",
        "Expressions give single values and lists of them, no maps, and no lists with a structure of their own. What tells the \
         items of a list apart (name, mountPath, containerPort and so on) has to be known before rules change the object: such \
         an expression reads parameters, `owner`, `namespaceObject` and `request` without `request.object`, or variables that \
         read nothing else.",
        Spec "volumes: [{name: {$cel: 'object.spec.nodeName'}, emptyDir: {}}]";
    BAD_PARAMETER = "VST0136", "a parameter that cannot be used",
        "A parameter has a name, a type, and an annotation or a default or both. Its bounds and its default must fit the type: \
         min and max for numbers, quantities, durations and the length of texts, pattern for texts, values for an enum.",
        Spec "parameters: [{name: cpu, type: quantity, default: much}]\npod: {labels: {a: b}}";
    BAD_PATTERN = "VST0137", "a pattern that cannot be used",
        "The pattern is no regular expression, or grows too large when it is compiled. Back references and looking around \
         are not supported, as in the API server.",
        Spec "when: [\"request.name.matches('(')\"]\npod: {labels: {a: b}}";
    EXPRESSION_TYPE = "VST0140", "an expression of the wrong type",
        "The expression fails for every object: a part of it gets another kind of value than it takes, or its value is of another \
         kind than the field holds. Parameters of type `int` and `bool` are numbers and truth values, all others are text; what \
         is read of an object may be anything. `string()`, `int()`, `bool()`, `quantity()` and `duration()` make one of the other.",
        Spec "parameters: [{name: port, type: int, default: \"80\"}]\ncontainers:\n- select: {all: true}\n  env: [{name: PORT, value: {$cel: params.port}}]";

    CLOSED_LIST = "VST0150", "a list that is one value",
        "The API server takes this list for one value, such as the arguments of a program: an item added to the user's list \
         would change what the others mean. The rule can only replace all of it: name the field in `replace`, beside it. \
         Inside of what a rule adds as a whole, such as a sidecar, every list is free.",
        Spec "containers:\n- select: {all: true}\n  args: [--verbose]";
    NOTHING_TO_REPLACE = "VST0151", "nothing to replace",
        "`replace` names fields that stand beside it in the same map and may take the place of the user's. This one does not \
         stand there.",
        Spec "containers:\n- select: {all: true}\n  replace: [args]\n  env: [{name: TARGET, value: you}]";
    MISPLACED_FIELD = "VST0152", "a field that has a place of its own",
        "`pod.spec` takes the fields of a pod's specification, but containers, volumes and the secrets for images have their \
         own places in a rule, because they are added item by item.",
        Spec "pod:\n  spec:\n    volumes: [{name: certs, emptyDir: {}}]";
    RESERVED = "VST0153", "the injector's own annotation",
        concat!("`", group!(), "/injected` says what rules have added to a pod. The injector writes it with every change of a \
         pod, so that what a rule writes there would be lost. Use another key."),
        Spec concat!("pod: {annotations: {", group!(), "/injected: mine}}");
    ANCHOR_CYCLE = "VST0154", "positions that contradict each other",
        "Each of these containers is to stand before the next, and the last before the first. No order is like that. Take \
         one of the positions away.",
        Spec "sidecars:\n- {name: one, image: one, position: {initContainers: {before: two}}}\n- {name: two, image: two, position: {initContainers: {before: one}}}";
    PROFILE = "VST0155", "a security profile for Windows",
        "The fields that `securityProfile: restricted` fills are those of Linux; the API server refuses them in pods for \
         Windows. Leave `match.os` at `linux`, or write the `securityContext` yourself.",
        Spec "match: {os: any, namespaces: {names: [blue]}}\nsecurityProfile: restricted\nsidecars: [{name: agent, image: agent}]";
    REMOVES_WRITTEN = "VST0156", "a rule removes what a rule writes",
        "What one rule writes and another (or the same) removes would go to and fro with every evaluation of a pod. To have \
         another value in its place, write it with `onConflict: override`.",
        Spec "remove:\n- env: {containers: all, name: TARGET}\ncontainers:\n- select: {all: true}\n  env: [{name: TARGET, value: you}]";
    OTHER_LIST = "VST0157", "a position in a list that the container does not join",
        "Init containers and native sidecars join `initContainers`, regular sidecars `containers`. A position in the other list \
         would never count. With `mode: auto` both may stand there, since the InjectorSettings say what becomes of it.",
        Spec "sidecars: [{name: proxy, image: 'proxy:1', mode: regular, position: {initContainers: first}}]";
    DUPLICATE_SETTINGS = "VST0165", "settings twice",
        "One document of kind `InjectorSettings` speaks for the whole injector. Of two of them nobody could say which counts: \
         put everything into one.",
        Documents "kind: InjectorSettings\nmetadata: {name: settings}\nspec: {mode: on}\n---\nkind: InjectorSettings\nmetadata: {name: more}\nspec: {successEvents: true}\n";
    EMPTY_EXEMPTION = "VST0166", "an exemption without a condition",
        "An exemption takes away from all rules whatever meets every one of its conditions. Without any condition that is \
         everything. Name `namespaces`, `namespaceLabels`, `objectLabels` or `users`; to switch the injector off, set \
         `mode: off`.",
        Documents "kind: InjectorSettings\nmetadata: {name: settings}\nspec:\n  exemptions: [{reason: none}]\n";
    UNSEEN_OWNER = "VST0167", "an owner that pods never name",
        "`match.ownerKinds` compares the kind of the controller that a pod names. A pod of a CronJob names the Job, which \
         alone names the CronJob: such a rule would match nothing.",
        Spec "match: {ownerKinds: [CronJob]}\npod: {labels: {a: b}}\n";

    UNSTABLE = "VST0175", "a rule that never comes to rest",
        "The API server calls the injector again when others have changed the object, so a rule must leave alone what it made. \
         This one changes its own result, or that of another rule: on a pod of the built-in corpus, the second evaluation was \
         not empty. It happens where an expression counts or copies what the rules add.",
        Spec "onConflict: override\npod:\n  annotations: {seen: {$cel: \"object.metadata.?annotations[?'seen'].orValue('') + 'x'\"}}";

    NOT_A_STRING = "VST0180", "a label or annotation that is no string",
        "The values of labels and annotations are strings. An unquoted `true` or `1` is a truth value or a number to YAML, and \
         the API server refuses an object that has one there. Quote it.";

    REQUIRED_EVERYWHERE = "VST0190", "a required rule without a restriction to namespaces",
        "While the injector is down, the API server refuses what a required rule is for. Without a restriction to namespaces \
         that is everything that starts anywhere: clusters have stood still that way. Name the namespaces by \
         `match.namespaces.names` or `match.namespaces.matchLabels`; leaving a few out by `exclude`, or `optIn`, is no \
         restriction that the API server knows. Who means it all the same writes `requiredEverywhere: allow` into the \
         InjectorSettings. `inject` and `explain` go by such a rule all the same.";
    REQUIRED_IN_OWN_NAMESPACE = "VST0191", "a required rule that may be for the injector's own namespace",
        "With `ownNamespace: inject` in the InjectorSettings, rules reach pods in the injector's own namespace. A required \
         rule would keep them from starting while the injector is down, and with them whatever the injector itself needs \
         there to come up. Exclude the namespace from the rule, or do without `required`.";

    NO_REQUESTS = "VST0200", "a container without requests",
        "A container that the rule brings says nothing about the resources it needs. In a namespace with a quota or a \
         LimitRange the whole pod may be refused for it, and the scheduler counts it as nothing.",
        Spec "sidecars: [{name: proxy, image: 'proxy:1.8'}]";
    NO_STARTUP_PROBE = "VST0201", "a native sidecar that nobody waits for",
        "A native sidecar with a `startupProbe` holds back the application until the probe succeeds. Without one, the \
         application starts as soon as the sidecar's process exists: its first connections may fail, and what an agent was \
         to fetch for it may not be there yet. A `lifecycle.postStart` is waited for as well. Where the application needs \
         nothing of the sidecar to start, leave it as it is.",
        Spec "sidecars:\n- name: proxy\n  image: proxy:1.8\n  ports: [{containerPort: 15001}]\n  resources: {requests: {cpu: 10m}}";
    UNRESOLVED = "VST0202", "a reference to no variable",
        "The kubelet replaces `$(NAME)` by a variable of the same container that stands before it, and leaves the text as it \
         is where there is none. In a container that the rule brings nobody else defines one. A container that is there may have \
         the variable: of what a rule adds to it this is a hint, and a warning where the rule adds the variable behind its use.",
        Spec "sidecars:\n- name: proxy\n  image: proxy:1.8\n  args: [--port, $(PORT)]\n  resources: {requests: {cpu: 10m}}";
    FLOATING_IMAGE = "VST0203", "an image without a version",
        "Without a tag, or with `latest`, two pods of one day may run different programs, and a restart may bring a new one. \
         Name a version, or a digest.",
        Spec "sidecars: [{name: proxy, image: proxy, resources: {requests: {cpu: 10m}}}]";
    OVERRIDDEN_TWICE = "VST0204", "two rules override one key",
        "Both rules may mean the same pod, and both override the same key, volume or container with values of their own. The one \
         that acts later (by `order`, then by name) wins, whatever the earlier one wanted.",
        Documents "kind: Injection\nmetadata: {name: one}\nspec:\n  optIn: pod\n  onConflict: override\n  pod: {labels: {team: blue}}\n---\nkind: Injection\nmetadata: {name: two}\nspec:\n  optIn: pod\n  onConflict: override\n  pod: {labels: {team: red}}\n";
    REMOVED_IN_USE = "VST0205", "something removed that is still needed",
        "The rule removes what it refers to elsewhere, or what another one mounts that may mean the same pod. Without the volume it \
         fails on most pods, because the result would be refused by the API server; without the variable `$(NAME)` stays as it is.",
        Spec "remove: [{volumes: {name: cache}}]\nsidecars: [{name: s, image: 's:1', volumeMounts: [{name: cache, mountPath: /cache}]}]";
    REQUIRED_BROADLY = "VST0206", "a required rule for many",
        "While the injector is down, the API server refuses whatever a required rule could mean. A rule that names no \
         namespaces holds up pods everywhere. On a cluster such a rule is refused (VST0190) unless the InjectorSettings allow \
         it, and `vestibule lint` says so; under `mode: off` nothing is refused yet, and it says this.",
        Spec "required: true\npod: {labels: {team: blue}}";
    UNUSED = "VST0207", "a name that is never used",
        "The rule declares a parameter or variable that none of its expressions reads. Perhaps one of them has another name \
         in mind.",
        Spec "variables: [{name: color, expr: \"'blue'\"}]\npod: {labels: {team: blue}}";
    WRITABLE_SECRET = "VST0208", "a secret that is not mounted read-only",
        "The kubelet mounts secrets read-only in any case. `readOnly: true` says so, which scanners and readers look for.",
        Spec "volumes: [{name: keys, secret: {secretName: keys}}]\ncontainers:\n- select: {all: true}\n  volumeMounts: [{name: keys, mountPath: /keys}]";
    NODE_ACCESS = "VST0209", "a rule that opens the node",
        "Files of the node, its network or its processes, or privileged containers, undo the isolation of every pod that \
         the rule changes. Namespaces of the Pod Security levels `baseline` and `restricted` refuse such pods.",
        Spec "volumes: [{name: logs, hostPath: {path: /var/log}}]";
    MATCHES_NO_NAMESPACE = "VST0210", "a rule for nobody",
        "Every namespace that `match.namespaces.names` lists is excluded by the rule itself, or belongs to the cluster \
         (kube-system, kube-public, kube-node-lease), where rules never act.",
        Spec "match: {namespaces: {names: [kube-system]}}\npod: {labels: {team: blue}}";
    POLICY_SUFFICES = "VST0211", "a MutatingAdmissionPolicy could do it",
        "The rule only sets labels, annotations, variables and the like on everything it matches. Since Kubernetes 1.36 a \
         MutatingAdmissionPolicy does that inside the API server, without a webhook that could be down. It knows no opt-in, \
         no `keep`, no arguments or sources of variables, and it neither explains nor reports what it did. This is said only \
         where it is certain: of a rule with conditions, parameters or expressions, or one for some containers, nothing is \
         said, even where a policy could be written that does the same.",
        Documents "kind: Injection\nmetadata: {name: example}\nspec:\n  match: {objects: {labels: {app: web}}}\n  onConflict: override\n  pod: {annotations: {team: blue}}\n";
    TEMPLATE_TEXT = "VST0212", "text that another tool would replace",
        "`{{ .Values.x }}` is Helm's, and `${params.x}` nobody's: rules are no templates, and the text reaches the pod as it is. An \
         expression is a map with the one key `$cel` and takes the place of the whole value. Render charts before they are rules.",
        Spec "parameters: [{name: level, type: string, default: info}]\ncontainers:\n- select: {all: true}\n  env: [{name: LEVEL, value: '${params.level}'}, {name: LOG, value: {$cel: params.level}}]";
}
