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
    SYNTAX = "VST0101", "the text is not YAML",
        "The text violates the grammar of YAML. The caret is at the position where the parser gave up; the cause is \
         often an indentation, a tab or an unclosed quote a little above. JSON is YAML too.",
        Text "spec: [1, 2\n";
    DUPLICATE_KEY = "VST0102", "a duplicate key in a map",
        "YAML forbids a key that appears twice in one map, and parsers disagree which of the two wins. Remove one.",
        Spec "order: 1\norder: 2";
    TAG = "VST0103", "a tag",
        "Tags such as `!!str` or `!Ref` change how a value is read, and the API server knows none of them. Write \
         the value itself; quote it if it must be text.",
        Spec "order: !!int 1";
    ALIAS = "VST0104", "an alias that cannot be expanded",
        "An alias (`*name`) is replaced by a copy of the value that the anchor (`&name`) marks. This alias is \
         inside its own anchor, or all copies together are larger than a document may be. Write the repeated part \
         out.",
        Text "spec: &all [*all]\n";
    TOO_DEEP = "VST0105", "nested too deeply",
        "No Kubernetes object comes near 128 levels of nesting. The limit keeps hostile documents from exhausting \
         the stack.",
        Text "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n";
    KEY_SHAPE = "VST0106", "a key that is not text",
        "Keys are plain words, because a document becomes a JSON object. Lists and maps as keys, and the merge key \
         `<<`, are not supported: write the fields out.",
        Spec "<<: {order: 1}";
    TOO_LARGE = "VST0107", "too many values",
        "One source holds more values than any rule or object needs. Split it into several.";

    NO_OBJECT = "VST0108", "not a Kubernetes object",
        "Every object has an `apiVersion` and a `kind`. Values files, such as Helm's, and templates that are not \
         rendered are not objects: render them first.";

    TOO_MANY_FINDINGS = "VST0109", "more findings than are shown",
        "Only the first 200 findings are shown. Most of the others may have the same cause: mend the shown ones, \
         and try again.";

    UNKNOWN_FIELD = "VST0110", "an unknown field",
        "The rule format has no field of this name. Rules are read strictly, because a misspelt field that is \
         silently ignored becomes a pod without its sidecar. Inside fragments of a pod only misspellings of known \
         fields are errors.",
        Spec "sidecars:\n- name: proxy\n  image: proxy:1\n  volumeMount: []";
    WRONG_TYPE = "VST0111", "a value of the wrong kind",
        "The field needs another kind of value: a list instead of a map, text instead of a list, and so on. The \
         single item of a list still needs its dash.",
        Spec "sidecars: {name: proxy, image: 'proxy:1'}";
    MISSING_FIELD = "VST0112", "a required field is missing",
        "The rule cannot work without this field.",
        Spec "containerPatches:\n- env: [{name: TARGET, value: you}]";
    WRONG_VALUE = "VST0113", "a value that is not allowed",
        "The field takes one of a few words, and this is none of them; or the API server would refuse the value in \
         a pod: a label of more than 63 characters, a container name with an underscore, an invalid quantity.",
        Spec "onConflict: replace";
    NOT_SUPPORTED = "VST0114", "not supported yet",
        "The field belongs to the rule format, but this version does not support it. It is refused, because a rule \
         whose field is ignored would not do what its author expects.",
        Spec "lookups: []";
    WRONG_KIND = "VST0115", "not a rule document",
        concat!("A rule document starts with `apiVersion: ", api_version!(), "` and `kind: Injection`. Other objects do not \
         belong in a folder of rules."),
        Text "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rules}\n";
    DUPLICATE_NAME = "VST0116", "a name is used twice",
        "Names identify rules in messages, opt-in keys and metrics; containers, volumes, variables, ports and mount \
         paths within a rule must be unique as well. Rename one. Tolerations are the same if only their `tolerationSeconds` differ.",
        Spec "volumes:\n- {name: certs, emptyDir: {}}\n- {name: certs, emptyDir: {}}";
    NULL = "VST0117", "a null",
        "A null is neither a value nor a missing field. Leave the field out, or write `\"\"` for an empty text.",
        Spec "order: null";
    UNKNOWN_POD_FIELD = "VST0118", "an unknown field of a pod",
        "The field is kept, because the cluster may be newer than this program. If the API server does not know it \
         either, it drops the field.",
        Spec "sidecars: [{name: proxy, image: 'proxy:1', brandNew: 1}]";
    MATCHES_EVERY_POD = "VST0119", "a rule for every pod of the cluster",
        "A rule with `optIn: always` (the default) has to ask for labels of namespaces or pods, by `matchLabels`, \
         `In` or `Exists`. Otherwise it would change every pod of the cluster, which is hardly ever meant.",
        Documents "kind: Injection\nmetadata: {name: example}\nspec:\n  pod: {labels: {team: blue}}\n";
    EMPTY_RULE = "VST0120", "a rule that changes nothing",
        "The rule adds nothing: no sidecars, init containers, volumes, labels, annotations, nor blocks for \
         containers.",
        Spec "order: 1";
    DUPLICATE_MOUNT = "VST0121", "a path is mounted twice",
        "Two mounts of one container have the same mountPath, which the API server refuses. Mount paths are \
         compared without a trailing `/`.",
        Spec "containerPatches:\n- select: {all: true}\n  volumeMounts:\n  - {name: certs, mountPath: /certs}\n  - {name: keys, mountPath: /certs/}";
    REQUIRED_SKIPS = "VST0122", "a required rule that may be skipped",
        "`required: true` denies pods that the rule fails to change; `skipRule` and `onError: skip` allow them. \
         Choose one.",
        Spec "required: true\nonError: skip\npod: {labels: {team: blue}}";
    FEEDBACK = "VST0123", "a rule writes what a rule reads",
        "`match` and the opt-in keys read labels and annotations. If a rule writes one of them, the second \
         evaluation of the same pod differs from the first, and the API server does evaluate twice. Use another \
         key.",
        Spec concat!("pod: {labels: {", group!(), "/inject: 'true'}}");
    RENAMED = "VST0124", "a field by its former name",
        "The format has the words of Kubernetes: `namespaceSelector`, `objectSelector`, `matchConditions` and \
         `expression` are what they are in a ValidatingAdmissionPolicy, and `containerPatches` changes containers \
         that exist. `vestibule lint --fix` rewrites a file and keeps its comments.",
        Spec "when: [size(object.spec.containers) == 1]\npod: {labels: {team: blue}}";

    EXPRESSION_SYNTAX = "VST0130", "an expression that cannot be read",
        "Expressions are written in the Common Expression Language, as in policies of Kubernetes. The caret is at \
         the position where the parser gave up. In YAML's plain style `: ` and ` #` end the text: put the \
         expression into quotes.",
        Spec "matchConditions: [{name: sum, expression: '1 +'}]\npod: {labels: {a: b}}";
    UNKNOWN_NAME = "VST0131", "an unknown name in an expression",
        "Expressions read object, oldObject, request, namespaceObject, owner, the rule's parameters as params.NAME \
         and its variables as variables.NAME. A variable reads only variables that are declared before it.",
        Spec "matchConditions: [{name: spec, expression: has(objct.spec)}]\npod: {labels: {a: b}}";
    UNKNOWN_FUNCTION = "VST0132", "an unknown function, or one that is called differently",
        "Functions have the same names as in the API server. Some are called as methods and others are not: \
         `size(x)` and `x.size()`, but only `quantity(x)` and `x.startsWith(y)`. No function reads the time.",
        Spec "matchConditions: [{name: named, expression: request.name.startWith('a')}]\npod: {labels: {a: b}}";
    EXPRESSION_SIZE = "VST0133", "an expression that is too long or too deep",
        "An expression has at most 8 KiB, 32 nested brackets, and 400 nested steps (operators, dots, brackets, \
         calls), where a variable counts as deep as its own expression: evaluation is recursive, and the stack of a \
         thread is limited. Split a long expression into `variables`; in a deep one let fewer steps build on each \
         other.",
        Spec "matchConditions: [{name: deep, expression: '(((((((((((((((((((((((((((((((((true)))))))))))))))))))))))))))))))))'}]\npod: {labels: {a: b}}";
    UNKNOWN_KEYWORD = "VST0134", "an unknown word that starts with `$`",
        "A map whose only key is `$cel` is an expression. No other key starts with `$`, and `$cel` has no other key \
         beside it.",
        Spec "pod: {labels: {a: {$sel: owner.name}}}";
    EXPRESSION_PLACE = "VST0135", "an expression that is not allowed in this place",
        "Expressions give single values, lists of them, and maps, but no lists of items: `forEach` repeats an item. The \
         keys of a list's items (name, mountPath, containerPort and so on) and of maps such as labels must be known before rules \
         change the object, and so must the values of `forEach`: such an expression reads parameters, `owner`, `namespaceObject` and `request` without \
         `request.object`, or variables that read nothing else.",
        Spec "volumes: [{name: {$cel: 'object.spec.nodeName'}, emptyDir: {}}]";
    BAD_PARAMETER = "VST0136", "a parameter that cannot be used",
        "A parameter has a name, a type, and an annotation or a default or both. Its bounds and its default must \
         fit the type: min and max for numbers, quantities, durations and the length of texts, pattern for texts, \
         values for an enum. With `annotationPrefix` it has no default: without annotations it is an empty map. \
         Annotations that the injector itself writes are not read: a second call would find another value.",
        Spec "parameters: [{name: cpu, type: quantity, default: much}]\npod: {labels: {a: b}}";
    BAD_PATTERN = "VST0137", "a pattern that cannot be used",
        "The pattern is not a regular expression, or is too large when it is compiled. Back references and \
         look-around are not supported, as in the API server.",
        Spec "matchConditions: [{name: named, expression: \"request.name.matches('(')\"}]\npod: {labels: {a: b}}";
    SAME_ITEMS = "VST0138", "a loop whose items are all the same",
        "`forEach` adds an item once for each value, which its expressions read as `each`. The items of a list must have \
         different keys (name, mountPath, containerPort and so on), so an expression of such a key has to read `each`. \
         For volumes and their mounts that is the `name` of the volume, and the `mountPath` of the mount. \
         A `name` or `hostPort` of a port has to read it too, and the `name` of a volume device.",
        Spec "parameters: [{name: files, type: string, annotationPrefix: example.com/file-}]\nvolumes: [{forEach: params.files, name: files, emptyDir: {}}]";
    EXPRESSION_TYPE = "VST0140", "an expression of the wrong type",
        "The expression fails for every object: a part of it gets a value of another type than it takes, or its \
         result has another type than the field. Parameters of type `int` and `bool` are numbers and booleans, all \
         others are text. Labels and annotations of an object are text; its other values may have any type. `string()`, \
         `int()`, `bool()`, `quantity()` and `duration()` convert between types.",
        Spec "parameters: [{name: port, type: int, default: \"80\"}]\ncontainerPatches:\n- select: {all: true}\n  env: [{name: PORT, value: {$cel: params.port}}]";

    CLOSED_LIST = "VST0150", "an atomic list",
        "The API server replaces this list as one value, such as the arguments of a program: an item added to the \
         user's list would change the meaning of the others. The rule can only replace all of it: name the field in \
         `replace`, beside it. For a list within a field, such as `options` of `dnsConfig`, name that field; its members that the \
         rule does not have stay. Lists inside an added object, such as a sidecar, are not restricted.",
        Spec "containerPatches:\n- select: {all: true}\n  args: [--verbose]";
    NOTHING_TO_REPLACE = "VST0151", "nothing to replace",
        "`replace` names fields of `pod.spec`, or of the container patch, that replace the user's values. This field is not there, \
         or `replace` is in another place.",
        Spec "containerPatches:\n- select: {all: true}\n  replace: [args]\n  env: [{name: TARGET, value: you}]";
    MISPLACED_FIELD = "VST0152", "a field that belongs elsewhere in the rule",
        "`pod.spec` takes the fields of a pod's specification, but containers, volumes and image pull secrets have \
         their own fields in a rule, because they are added item by item.",
        Spec "pod:\n  spec:\n    volumes: [{name: certs, emptyDir: {}}]";
    RESERVED = "VST0153", "the injector's own annotation",
        concat!("`", group!(), "/injected` lists the parts that rules have added to a pod. The injector writes it whenever it \
         changes a pod, so a value that a rule writes there would be lost. Use another key."),
        Spec concat!("pod: {annotations: {", group!(), "/injected: mine}}");
    ANCHOR_CYCLE = "VST0154", "positions that contradict each other",
        "Each of these containers must come before the next, and the last before the first, which no order \
         satisfies. Remove one of the positions.",
        Spec "sidecars:\n- {name: one, image: one, position: {initContainers: {before: two}}}\n- {name: two, image: two, position: {initContainers: {before: one}}}";
    PROFILE = "VST0155", "a security profile for Windows",
        "`securityProfile: restricted` fills fields of Linux; the API server refuses them in pods for Windows. \
         Leave `match.os` at `linux`, or write the `securityContext` yourself.",
        Spec "match: {os: any, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: blue}}}\nsecurityProfile: restricted\nsidecars: [{name: agent, image: agent}]";
    REMOVES_WRITTEN = "VST0156", "a rule removes what a rule adds",
        "If one rule adds a part and another (or the same) removes it, every evaluation of a pod would change it \
         again. To replace a value, write it with `onConflict: override`.",
        Spec "remove:\n- env: {containers: all, name: TARGET}\ncontainerPatches:\n- select: {all: true}\n  env: [{name: TARGET, value: you}]";
    OTHER_LIST = "VST0157", "a position in a list that the container does not join",
        "Init containers and native sidecars join `initContainers`, regular sidecars `containers`. A position in \
         the other list has no effect. With `mode: auto` both may be given, since the InjectorSettings decide the \
         mode.",
        Spec "sidecars: [{name: proxy, image: 'proxy:1', mode: regular, position: {initContainers: first}}]";
    CONTROLLER_LABEL = "VST0158", "a label by which controllers find their pods",
        "Controllers set these labels on the pods that they create, and find the pods by most of them: a ReplicaSet by \
         `pod-template-hash`, a Job by `batch.kubernetes.io/controller-uid`, a DaemonSet by `controller-revision-hash`. \
         If a rule changes or removes such a label, the controller does not find the pod that it has created, and \
         creates another one, without end. Use another key.",
        Spec "onConflict: override\npod: {labels: {pod-template-hash: stable}}";
    DUPLICATE_SETTINGS = "VST0165", "duplicate settings",
        "One document of kind `InjectorSettings` configures the whole injector. With two of them it would be \
         undefined which one applies: merge them into one.",
        Documents "kind: InjectorSettings\nmetadata: {name: settings}\nspec: {mode: on}\n---\nkind: InjectorSettings\nmetadata: {name: more}\nspec: {successEvents: true}\n";
    EMPTY_EXEMPTION = "VST0166", "an exemption without a condition",
        "An exemption exempts the objects for which all of its conditions hold. Without a condition these are all \
         objects. Write `namespaceSelector`, `objectSelector` or `users`; to switch the injector off, set \
         `mode: off`.",
        Documents "kind: InjectorSettings\nmetadata: {name: settings}\nspec:\n  exemptions: [{reason: none}]\n";
    UNSEEN_OWNER = "VST0167", "an owner that pods never name",
        "`match.ownerKinds` compares the kind of the controller that a pod names. A pod of a CronJob names the Job, \
         and only the Job names the CronJob: such a rule would match nothing.",
        Spec "match: {ownerKinds: [CronJob]}\npod: {labels: {a: b}}\n";

    UNSTABLE = "VST0175", "a rule that never comes to rest",
        "The API server calls the injector again when other webhooks have changed the object, so a rule must not \
         change its own result. This rule changes its own result, or that of another rule: on a pod of the built-in \
         corpus, the second evaluation was not empty. The cause is usually an expression that counts or copies \
         parts that the rules add.",
        Spec "onConflict: override\npod:\n  annotations: {seen: {$cel: \"object.metadata.?annotations[?'seen'].orValue('') + 'x'\"}}";

    NOT_A_STRING = "VST0180", "a label or annotation that is not a string",
        "The values of labels and annotations are strings. YAML reads an unquoted `true` or `1` as a boolean or a \
         number, and the API server refuses an object with such a value. Quote it.";

    REQUIRED_EVERYWHERE = "VST0190", "a required rule without a restriction to namespaces",
        "While the injector is down, the API server refuses every object that a required rule may match. Without a \
         restriction to namespaces no pod starts anywhere, and the cluster can stand still. Select namespaces by \
         `matchLabels`, `In` or `Exists` in `match.namespaceSelector`; `NotIn`, `DoesNotExist` and `optIn` do not \
         restrict the rule to known namespaces. To allow such rules, write `requiredEverywhere: allow` into the \
         InjectorSettings. `inject` and `explain` evaluate such a rule anyway.";
    REQUIRED_IN_OWN_NAMESPACE = "VST0191", "a required rule that may match the injector's own namespace",
        "With `ownNamespace: inject` in the InjectorSettings, rules apply to pods in the injector's own namespace. \
         While the injector is down, a required rule would keep them from starting, including pods that the \
         injector needs to start. Exclude the namespace from the rule, or remove `required`.";

    NAMESPACED_PART = "VST0192", "a part that a rule of a namespace may not have",
        "A NamespacedInjection adds to the pods of its own namespace what the InjectorSettings allow: \
         `namespacedInjections.allowedParts` lists the parts. It never changes or removes what a pod or a rule of the \
         cluster has, and never gives access to the node or more privileges. Ask an administrator to allow the part, or \
         for an Injection.",
        Documents "kind: NamespacedInjection\nmetadata: {name: example, namespace: shop}\nspec: {required: true, pod: {labels: {team: blue}}}\n";
    NAMESPACED_PLACE = "VST0193", "a rule of a namespace that cannot be in force",
        "Rules of namespaces are in force only where the InjectorSettings have `namespacedInjections`, in namespaces \
         other than those of the cluster and of the injector, up to a number for each namespace \
         (`maxRulesPerNamespace`) and 1,000 in all, each up to 64 KiB.",
        Documents "kind: NamespacedInjection\nmetadata: {name: example, namespace: kube-system}\nspec: {pod: {labels: {team: blue}}}\n";

    NO_REQUESTS = "VST0200", "a container without requests",
        "An injected container does not state the resources that it needs. In a namespace with a quota or a \
         LimitRange the whole pod may be refused, and the scheduler counts the container as nothing.",
        Spec "sidecars: [{name: proxy, image: 'proxy:1.8'}]";
    NO_STARTUP_PROBE = "VST0201", "a native sidecar without a startup probe",
        "A native sidecar with a `startupProbe` delays the application until the probe succeeds. Without one, the \
         application starts as soon as the sidecar's process exists: its first connections may fail, and files that \
         an agent fetches for it may be missing. The kubelet waits for a `lifecycle.postStart` as well. If the \
         application can start without the sidecar, ignore this hint.",
        Spec "sidecars:\n- name: proxy\n  image: proxy:1.8\n  ports: [{containerPort: 15001}]\n  resources: {requests: {cpu: 10m}}";
    UNRESOLVED = "VST0202", "a reference to an unknown variable",
        "The kubelet replaces `$(NAME)` by a variable of the same container that is defined before it; otherwise \
         the text stays as it is. In an injected container only the rule defines variables. An existing container \
         may define the variable itself, so this is only a hint in a block, and a warning if the block defines the \
         variable after its use.",
        Spec "sidecars:\n- name: proxy\n  image: proxy:1.8\n  args: [--port, $(PORT)]\n  resources: {requests: {cpu: 10m}}";
    FLOATING_IMAGE = "VST0203", "an image without a version",
        "Without a tag, or with `latest`, two pods of one day may run different programs, and a restart may start a \
         new one. Name a version, or a digest.",
        Spec "sidecars: [{name: proxy, image: proxy, resources: {requests: {cpu: 10m}}}]";
    OVERRIDDEN_TWICE = "VST0204", "two rules override one key",
        "Both rules may apply to one pod, and both override the same key, volume or container with different \
         values. The later rule (by `order`, then by name) wins.",
        Documents "kind: Injection\nmetadata: {name: one}\nspec:\n  optIn: pod\n  onConflict: override\n  pod: {labels: {team: blue}}\n---\nkind: Injection\nmetadata: {name: two}\nspec:\n  optIn: pod\n  onConflict: override\n  pod: {labels: {team: red}}\n";
    REMOVED_IN_USE = "VST0205", "something removed that is still needed",
        "The rule removes an entry that it uses elsewhere, or that another rule mounts which may apply to the same \
         pod. Without the volume the rule fails on most pods, because the API server would refuse the result; \
         without the variable `$(NAME)` stays as it is.",
        Spec "remove: [{volumes: {name: cache}}]\nsidecars: [{name: s, image: 's:1', volumeMounts: [{name: cache, mountPath: /cache}]}]";
    REQUIRED_BROADLY = "VST0206", "a required rule for many pods",
        "While the injector is down, the API server refuses every object that a required rule may match. A rule \
         that names no namespaces affects pods everywhere. The injector refuses such a rule (VST0190) unless the \
         InjectorSettings allow it, and so does `vestibule lint`; with `mode: off` nothing is refused yet, and this \
         warning is shown instead.",
        Spec "required: true\npod: {labels: {team: blue}}";
    UNUSED = "VST0207", "a name that is never used",
        "The rule declares a parameter or variable that none of its expressions reads. An expression may contain a \
         misspelling.",
        Spec "variables: [{name: color, expression: \"'blue'\"}]\npod: {labels: {team: blue}}";
    WRITABLE_SECRET = "VST0208", "a secret that is not mounted read-only",
        "The kubelet always mounts secrets read-only. `readOnly: true` says so for scanners and readers.",
        Spec "volumes: [{name: keys, secret: {secretName: keys}}]\ncontainerPatches:\n- select: {all: true}\n  volumeMounts: [{name: keys, mountPath: /keys}]";
    NODE_ACCESS = "VST0209", "a rule that gives access to the node",
        "Files of the node, its network or its processes, or privileged containers, undo the isolation of every pod \
         that the rule changes. Namespaces of the Pod Security levels `baseline` and `restricted` refuse such pods.",
        Spec "volumes: [{name: logs, hostPath: {path: /var/log}}]";
    MATCHES_NO_NAMESPACE = "VST0210", "a rule that matches no namespace",
        "The requirements of `match.namespaceSelector` contradict each other, or name only namespaces of the cluster \
         (kube-system, kube-public, kube-node-lease), where rules never apply.",
        Spec "match: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}}\npod: {labels: {team: blue}}";
    POLICY_SUFFICES = "VST0211", "a MutatingAdmissionPolicy would suffice",
        "The rule only sets labels, annotations, variables and the like on everything it matches. Since Kubernetes \
         1.36 a MutatingAdmissionPolicy does that inside the API server, without a webhook that could be down. A \
         policy has no opt-in, no `keep`, no arguments or sources of variables, and it neither explains nor reports \
         its decisions. This hint is shown only where it is certain: never for a rule with conditions, parameters \
         or expressions, or for a rule for some containers, even if a policy could be written that does the same.",
        Documents "kind: Injection\nmetadata: {name: example}\nspec:\n  match: {objectSelector: {matchLabels: {app: web}}}\n  onConflict: override\n  pod: {annotations: {team: blue}}\n";
    TEMPLATE_TEXT = "VST0212", "a placeholder of another template language",
        "`{{ .Values.x }}` belongs to Helm, and `${params.x}` to no tool: rules are not templates, and the text \
         reaches the pod unchanged. An expression is a map with the one key `$cel` and replaces the whole value. \
         Render charts before they become rules.",
        Spec "parameters: [{name: level, type: string, default: info}]\ncontainerPatches:\n- select: {all: true}\n  env: [{name: LEVEL, value: '${params.level}'}, {name: LOG, value: {$cel: params.level}}]";
}
