//! The CustomResourceDefinition of a conversion.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition,
};
use kube::core::crd::v1::merge_crds;

use super::Version;
use crate::registration::Registration;
use crate::registration::target::Target;

/// The name of the definition, and its content as far as the app prints it.
#[derive(Clone)]
pub(crate) struct Definition {
    name: String,
    source: Source,
    problems: Vec<String>,
}

#[derive(Clone)]
enum Source {
    /// The app does not print it.
    Elsewhere,
    /// The author gave it.
    Whole(Box<CustomResourceDefinition>),
    /// Derived from one type for each version.
    Versions { each: Vec<CustomResourceDefinition>, stored: String },
}

impl Definition {
    pub(super) fn named(name: &str) -> Self {
        let source = Source::Elsewhere;
        Self { name: name.to_owned(), source, problems: Vec::new() }
    }

    /// Derived from the versions that will be added, with `H` as the stored version.
    pub(super) fn of<H: Version>() -> Self {
        let stored = H::version(&()).into_owned();
        let source = Source::Versions { each: Vec::new(), stored };
        Self { name: H::crd_name().to_owned(), source, problems: Vec::new() }
    }

    pub(super) fn add<S: Version>(&mut self) {
        if S::crd_name() != self.name {
            self.problem(format!("{} is another resource", S::crd_name()));
        }
        if let Source::Versions { each, .. } = &mut self.source {
            each.push(S::crd());
        }
    }

    pub(super) fn store(&mut self, version: &str) {
        if let Source::Versions { stored, .. } = &mut self.source {
            version.clone_into(stored);
        }
    }

    pub(super) fn replace(&mut self, definition: CustomResourceDefinition) {
        let name = definition.metadata.name.as_deref().unwrap_or_default();
        if name != self.name {
            self.problem(format!("the definition is of `{name}`; give the one of {}", self.name));
        }
        self.source = Source::Whole(Box::new(definition));
    }

    pub(super) fn problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    /// `widgets.example.com`
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the app prints it.
    pub(crate) fn is_printed(&self) -> bool {
        !matches!(self.source, Source::Elsewhere)
    }

    /// All problems, one sentence each.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = self.problems.clone();
        if !self.name.split_once('.').is_some_and(|(plural, group)| !plural.is_empty() && !group.is_empty()) {
            problems.push(format!("`{}` names no definition: write PLURAL.GROUP", self.name));
        }
        problems.extend(self.merged().err());
        problems
    }

    /// Adds the conversion at `path` of `target` to `registration`, within the definition if the app prints it.
    pub(crate) fn register(
        &self,
        registration: &mut Registration,
        target: &Target,
        path: &str,
        ca_bundle: &str,
    ) {
        let conversion = CustomResourceConversion {
            strategy: "Webhook".to_owned(),
            webhook: Some(target.conversion(path, ca_bundle)),
        };
        match self.merged() {
            Ok(Some(mut definition)) => {
                definition.spec.conversion = Some(conversion);
                registration.definitions.push(definition);
            }
            // `App::check` has refused a definition with problems.
            _ => drop(registration.conversions.insert(self.name.clone(), conversion)),
        }
    }

    /// [`None`] if the app does not print it.
    fn merged(&self) -> Result<Option<CustomResourceDefinition>, String> {
        match &self.source {
            Source::Elsewhere => Ok(None),
            Source::Whole(definition) => Ok(Some((**definition).clone())),
            Source::Versions { each, stored } => {
                // `merge_crds` puts the stored version first, and reverses the others.
                let each = each.iter().rev().cloned().collect();
                let merged = merge_crds(each, stored);
                merged.map(Some).map_err(|error| format!("its versions make no definition: {error}"))
            }
        }
    }
}
