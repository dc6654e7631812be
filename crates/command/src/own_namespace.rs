//! The namespace that this process runs in.

use std::path::{Path, PathBuf};

use kube::config::Kubeconfig;

use crate::CommandError;

const VARIABLE: &str = "POD_NAMESPACE";
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The own namespace: the flag's, else `POD_NAMESPACE`, else the ServiceAccount's file, else the one of the kubeconfig's
/// current context. The kubeconfig is the one given, else that of `KUBECONFIG`, else `~/.kube/config`.
///
/// # Errors
/// No place names it: the error lists the places and the reasons.
pub fn own_namespace(flag: Option<&str>, kubeconfig: Option<&Path>) -> Result<String, CommandError> {
    let places = Places {
        flag,
        variable: std::env::var(VARIABLE).ok(),
        service_account: SERVICE_ACCOUNT.into(),
        kubeconfig: || match kubeconfig {
            Some(path) => Kubeconfig::read_from(path).map_err(|error| error.to_string()),
            None => Kubeconfig::read().map_err(|error| error.to_string()),
        },
    };
    places.find().map_err(|tried| {
        CommandError::input(format_args!(
            "the own namespace is not known; tried {}; give --namespace, or set {VARIABLE}",
            tried.join(", ")
        ))
    })
}

/// The places to search; a test replaces them.
struct Places<'a, F> {
    flag: Option<&'a str>,
    variable: Option<String>,
    service_account: PathBuf,
    kubeconfig: F,
}

impl<F: FnOnce() -> Result<Kubeconfig, String>> Places<'_, F> {
    /// The error has each place with the reason why it does not name a namespace.
    fn find(self) -> Result<String, Vec<String>> {
        let mut tried = Vec::new();
        let mut look = |place: String, found: Result<String, String>| {
            let why = match found {
                Ok(namespace) if !namespace.trim().is_empty() => return Some(namespace.trim().to_owned()),
                Ok(_) => "empty".to_owned(),
                Err(why) => why,
            };
            tried.push(format!("{place} ({why})"));
            None
        };
        let not_set = || "not set".to_owned();
        let flag = self.flag.map(str::to_owned).ok_or_else(not_set);
        let file = |path: &Path| std::fs::read_to_string(path).map_err(|error| error.to_string());
        look("the flag --namespace".to_owned(), flag)
            .or_else(|| look(format!("the variable {VARIABLE}"), self.variable.ok_or_else(not_set)))
            .or_else(|| {
                look(format!("the file {}", self.service_account.display()), file(&self.service_account))
            })
            .or_else(|| {
                look("the kubeconfig's current context".to_owned(), (self.kubeconfig)().and_then(of_context))
            })
            .ok_or(tried)
    }
}

/// As in kubectl, a context without a namespace means `default`.
fn of_context(kubeconfig: Kubeconfig) -> Result<String, String> {
    let name = kubeconfig.current_context.filter(|name| !name.is_empty()).ok_or("it names none")?;
    let context = kubeconfig.contexts.into_iter().find(|context| context.name == name);
    let context = context.ok_or_else(|| format!("there is no context `{name}`"))?;
    Ok(context.context.and_then(|context| context.namespace).unwrap_or_else(|| "default".to_owned()))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn kubeconfig(yaml: &str) -> Result<Kubeconfig, String> {
        Kubeconfig::from_yaml(yaml).map_err(|error| error.to_string())
    }

    const CONTEXT: &str =
        "{current-context: a, contexts: [{name: a, context: {cluster: c, namespace: from-context}}]}";

    /// The namespace that is found when each of the four places names one or none.
    fn find(says: [bool; 4]) -> Result<String, Vec<String>> {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("namespace");
        if says[2] {
            std::fs::write(&file, "from-file\n").unwrap();
        }
        Places {
            flag: says[0].then_some("from-flag"),
            variable: says[1].then(|| "from-variable".to_owned()),
            service_account: file,
            kubeconfig: || if says[3] { kubeconfig(CONTEXT) } else { Err("no file".to_owned()) },
        }
        .find()
    }

    #[test]
    fn the_first_place_that_names_a_namespace_counts() {
        let [flag, variable, file] = [true; 3];
        assert_eq!(find([flag, variable, file, true]).unwrap(), "from-flag");
        assert_eq!(find([false, variable, file, true]).unwrap(), "from-variable");
        assert_eq!(find([false, false, file, true]).unwrap(), "from-file");
        assert_eq!(find([false, false, false, true]).unwrap(), "from-context");
    }

    #[test]
    fn the_error_lists_every_place_that_was_tried() {
        let error = find([false; 4]).unwrap_err();
        assert_eq!(error.len(), 4);
        let text = error.join(", ");
        for part in ["--namespace (not set)", "POD_NAMESPACE (not set)", "/namespace (", "context (no file)"]
        {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn an_empty_namespace_is_ignored() {
        let places = Places {
            flag: Some(" "),
            variable: Some(String::new()),
            service_account: "/nowhere".into(),
            kubeconfig: || kubeconfig(CONTEXT),
        };
        assert_eq!(places.find().unwrap(), "from-context");
    }

    #[test]
    fn a_context_without_a_namespace_means_default() {
        let namespace = |yaml| of_context(kubeconfig(yaml).unwrap());
        assert_eq!(
            namespace("{current-context: a, contexts: [{name: a, context: {cluster: c}}]}"),
            Ok("default".to_owned())
        );
        assert!(namespace("{contexts: []}").unwrap_err().contains("names none"));
        assert!(namespace("{current-context: b, contexts: []}").unwrap_err().contains("no context `b`"));
    }
}
