//! The API version, labels and annotations of the injector.

/// The `apiVersion` of rule documents.
pub const API_VERSION: &str = api_version!();

/// The label or annotation by which pods and namespaces opt in or out of rules.
pub const INJECT_KEY: &str = concat!(group!(), "/inject");

/// The prefix of the key that opts in or out of one rule: the name of the rule follows.
pub const RULE_KEY_PREFIX: &str = concat!("inject.", group!(), "/");

/// The annotation that lists the parts that rules have added to a pod. No evaluation reads it.
pub const STATUS_ANNOTATION: &str = concat!(group!(), "/injected");

/// The label of ConfigMaps that hold rules; its value is `true`.
pub const CONFIG_LABEL: &str = concat!(group!(), "/config");

/// The name of the injector as a reporter of Events, as `kubectl describe` shows it.
pub const CONTROLLER: &str = concat!(group!(), "/injector");
