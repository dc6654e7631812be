//! Blocks of `containers`: the fields that a rule adds to existing containers.

use super::{Field, ITEM, Kind, POLICIES, Table};

/// A field of containers with the type that the pod's schema gives it.
macro_rules! container {
    ($name:literal, $about:literal) => {
        Field::new($name, Kind::Fragment(&["spec", "containers", $name], None), $about)
    };
    ($name:literal, $about:literal, $example:literal) => {
        container!($name, $about).example($example)
    };
}

/// The fields of a block that are merged member by member.
pub(crate) const PARTS_OF_CONTAINERS: &[&str] = &[
    "args",
    "command",
    "image",
    "imagePullPolicy",
    "lifecycle",
    "livenessProbe",
    "readinessProbe",
    "resizePolicy",
    "resources",
    "securityContext",
    "startupProbe",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "workingDir",
];

pub(crate) static BLOCK: Table = Table {
    what: "`containers`",
    example: "{select: {all: true}, env: [{name: TARGET, value: hall}]}",
    fields: &[
        Field::new(
            "select",
            Kind::Map(&SELECT),
            "`select` has exactly one of `all: true`, `names`, `images` and `index`",
        )
        .required(),
        Field::new(
            "onConflict",
            Kind::Word(&POLICIES),
            "What happens if a container already has another value.",
        ),
        Field::new(
            "env",
            Kind::Fragment(&["spec", "containers", "env"], Some(&ITEM)),
            "Variables. They are inserted before the existing variables, but after a variable that they refer to by `$(NAME)`.",
        )
        .example("[{name: TARGET, value: hall}]"),
        Field::new(
            "envFrom",
            Kind::Fragment(&["spec", "containers", "envFrom"], Some(&ITEM)),
            "Sources of variables. They are inserted before the existing sources: the last source that sets a variable wins, so the pod's own wins.",
        )
        .example("[{configMapRef: {name: settings}}]"),
        Field::new("ports", Kind::Fragment(&["spec", "containers", "ports"], Some(&ITEM)), "Ports.")
            .example("[{containerPort: 8080}]"),
        Field::new(
            "volumeMounts",
            Kind::Fragment(&["spec", "containers", "volumeMounts"], Some(&ITEM)),
            "Mounts of volumes.",
        )
        .example("[{name: data, mountPath: /data}]"),
        Field::new(
            "volumeDevices",
            Kind::Fragment(&["spec", "containers", "volumeDevices"], Some(&ITEM)),
            "Block devices.",
        )
        .example("[{name: disk, devicePath: /dev/xvda}]"),
        Field::new("replace", Kind::List(&Kind::Text), "The fields beside it that replace existing values.")
            .example("[image]"),
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
        Field::refused("remove", "`remove` belongs in `spec`"),
    ],
};

pub(crate) static SELECT: Table = Table {
    what: "`select`",
    example: "{all: true}",
    fields: &[
        Field::new("all", Kind::Boolean, "Every container."),
        Field::new("names", Kind::List(&Kind::Text), "The containers of these names.").example("[web]"),
        Field::new(
            "images",
            Kind::List(&Kind::Text),
            "The containers of these images, or repositories of images.",
        )
        .example("[nginx]"),
        Field::new("index", Kind::Integer, "The container with this index, counted from 0."),
        Field::new("exclude", Kind::List(&Kind::Text), "The names of containers that are not selected.")
            .example("[web]"),
        Field::new("init", Kind::Boolean, "Whether init containers and native sidecars are selected too.")
            .default("false"),
    ],
};
