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
            "What happens where a container has another value already.",
        ),
        Field::new(
            "env",
            Kind::Fragment(&["spec", "containers", "env"], Some(&ITEM)),
            "Variables. They go before those that are there, but behind a variable that they refer to by `$(NAME)`.",
        )
        .example("[{name: TARGET, value: hall}]"),
        Field::new(
            "envFrom",
            Kind::Fragment(&["spec", "containers", "envFrom"], Some(&ITEM)),
            "Sources of variables. They go before those that are there: of sources that set one variable the last counts, so the pod's own wins.",
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
        Field::new("replace", Kind::List(&Kind::Text), "Fields beside it that replace what is there.")
            .example("[image]"),
        container!("args", "Arguments; the field has to stand in `replace`.", "[--verbose]"),
        container!("command", "The program; the field has to stand in `replace`.", "[/bin/app]"),
        container!("image", "The image."),
        container!("imagePullPolicy", "When the image is pulled."),
        container!(
            "lifecycle",
            "What runs after the start and before the end.",
            "{preStop: {sleep: {seconds: 5}}}"
        ),
        container!("livenessProbe", "Whether it lives.", "{httpGet: {path: /healthz, port: 8080}}"),
        container!("readinessProbe", "Whether it is ready.", "{httpGet: {path: /ready, port: 8080}}"),
        container!(
            "resizePolicy",
            "How resources are resized; the field has to stand in `replace`.",
            "[{resourceName: cpu, restartPolicy: NotRequired}]"
        ),
        container!("resources", "Requests and limits.", "{requests: {cpu: 10m, memory: 16Mi}}"),
        container!("securityContext", "What it may do.", "{runAsNonRoot: true}"),
        container!("startupProbe", "Whether it has started.", "{httpGet: {path: /healthz, port: 8080}}"),
        container!("stdin", "Whether it reads from its input."),
        container!("stdinOnce", "Whether its input ends with the first session."),
        container!("terminationMessagePath", "Where it leaves its last words."),
        container!("terminationMessagePolicy", "Where else they are looked for."),
        container!("tty", "Whether it has a terminal."),
        container!("workingDir", "Where it starts."),
        Field::refused("remove", "`remove` stands in `spec`"),
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
        Field::new("index", Kind::Integer, "The container at this place, counted from 0."),
        Field::new("exclude", Kind::List(&Kind::Text), "But not those of these names.").example("[web]"),
        Field::new("init", Kind::Boolean, "Init containers and native sidecars as well.").default("false"),
    ],
};
