//! Blocks of `containerPatches`: the fields that a rule adds to existing containers.

use super::{
    ITEM, Kind, ON_CONFLICT_WORDS, REPLACE, Table, field, flag, fragment, map, refused, texts, word,
};

/// A field of containers with the type that the pod's schema gives it.
macro_rules! container {
    ($name:literal, $about:literal) => {
        field($name, Kind::Fragment(&["spec", "containers", $name], None), $about)
    };
    ($name:literal, $about:literal, $example:literal) => {
        container!($name, $about).example($example)
    };
}

pub(crate) static BLOCK: Table = Table {
    what: "`containerPatches`",
    example: "{select: {all: true}, env: [{name: TARGET, value: hall}]}",
    fields: &[
        map("select", &SELECT, "`select` has exactly one of `all: true`, `names`, `images` and `index`")
            .required(),
        word("onConflict", &ON_CONFLICT_WORDS, "What happens if a container already has another value."),
        fragment(
            "env",
            &["spec", "containers", "env"],
            &ITEM,
            "Variables. They are inserted before the existing variables, but after a variable that \
             they refer to by `$(NAME)`.",
        )
        .example("[{name: TARGET, value: hall}]"),
        fragment(
            "envFrom",
            &["spec", "containers", "envFrom"],
            &ITEM,
            "Sources of variables. They are inserted before the existing sources: the last source \
             that sets a variable wins, so the pod's own wins. A source that the pod has with \
             `optional: true` stays so, unless the rule says `optional: false`.",
        )
        .example("[{configMapRef: {name: settings}}]"),
        fragment("ports", &["spec", "containers", "ports"], &ITEM, "Ports.")
            .example("[{containerPort: 8080}]"),
        fragment("volumeMounts", &["spec", "containers", "volumeMounts"], &ITEM, "Mounts of volumes.")
            .example("[{name: data, mountPath: /data}]"),
        fragment("volumeDevices", &["spec", "containers", "volumeDevices"], &ITEM, "Block devices.")
            .example("[{name: disk, devicePath: /dev/xvda}]"),
        REPLACE,
        container!("args", "Arguments; `replace` has to name the field.", "[--verbose]"),
        container!("command", "The program; `replace` has to name the field.", "[/bin/app]"),
        container!("image", "The image."),
        container!("imagePullPolicy", "When the image is pulled."),
        container!(
            "lifecycle",
            "Hooks that run after the start and before the end.",
            "{preStop: {sleep: {seconds: 5}}}"
        ),
        container!("livenessProbe", "The liveness probe.", "{httpGet: {path: /healthz, port: 8080}}"),
        container!("readinessProbe", "The readiness probe.", "{httpGet: {path: /ready, port: 8080}}"),
        container!(
            "resizePolicy",
            "How resources are resized; `replace` has to name the field.",
            "[{resourceName: cpu, restartPolicy: NotRequired}]"
        ),
        container!("resources", "Requests and limits.", "{requests: {cpu: 10m, memory: 16Mi}}"),
        container!("securityContext", "Privileges and access control.", "{runAsNonRoot: true}"),
        container!("startupProbe", "The startup probe.", "{httpGet: {path: /healthz, port: 8080}}"),
        container!("stdin", "Whether standard input is open."),
        container!("stdinOnce", "Whether standard input closes after the first session."),
        container!("terminationMessagePath", "The file with the termination message."),
        container!("terminationMessagePolicy", "The source of the termination message."),
        container!("tty", "Whether it has a terminal."),
        container!("workingDir", "The working directory."),
        refused("remove", "`remove` belongs in `spec`"),
    ],
};

pub(crate) static SELECT: Table = Table {
    what: "`select`",
    example: "{all: true}",
    fields: &[
        flag("all", "Every container."),
        texts("names", "The containers of these names.").not_empty().example("[web]"),
        texts("images", "The containers of these images, or repositories of images.")
            .not_empty()
            .example("[nginx]"),
        field("index", Kind::Integer(0, i64::MAX), "The container with this index, counted from 0."),
        texts("exclude", "The names of containers that are not selected.").example("[web]"),
        flag("init", "Whether init containers and native sidecars are selected too.").default("false"),
    ],
};
