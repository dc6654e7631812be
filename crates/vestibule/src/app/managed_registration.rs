//! Managed registration: the replicas write the entries of webhook configurations, together with the `caBundle`.

use serde_json::{Value, json};
use vestibule_identity::{Desired, DesiredUpdates, RegistrationKind, RegistrationName, Settings};

use crate::app::App;
use crate::app::check::AppError;
use crate::registration::Registration;
use crate::registration::entries::Entry;
use crate::registration::target::Target;

impl App {
    /// The settings with managed registration (`--registration-mode managed`): a replica writes
    /// the entries of the hooks behind `target` into the registered configurations once it answers calls. Entries that an earlier
    /// version wrote into a kind of configuration without hooks now are removed.
    ///
    /// ```no_run
    /// # async fn example(app: vestibule::App, client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use vestibule::{Options, Target};
    ///
    /// let settings = app.managed(app.identity_settings("shop/hook".parse()?), &Target::service("shop/hook")?)?;
    /// let options = Options::self_managed(([0, 0, 0, 0], 10250).into(), client, settings)?;
    /// app.bind(options).await?.serve_until_signalled().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The app has problems, the settings are for another target, or a kind of configuration is not named exactly once.
    pub fn managed(&self, mut settings: Settings, target: &Target) -> Result<Settings, AppError> {
        let mut problems = Vec::new();
        if !is_for(&settings, target) {
            problems.push(format!("the certificate is not for {target}, where the hooks are to be called"));
        }
        match self.desired(&settings.registrations, target, &self.current_entries()) {
            Ok(desired) => settings.desired.extend(desired),
            Err(error) => problems.extend(error.problems),
        }
        let kinds = self.registration_names(self.name()).into_iter().map(|name| name.kind);
        for kind in kinds.filter(|kind| *kind != RegistrationKind::CustomResource) {
            let of = settings.registrations.iter().filter(|name| name.kind == kind).count();
            if of != 1 {
                let kind = kind.as_str();
                problems.push(format!(
                    "its entries need one configuration: name it by --registration {kind}/NAME, once ({of} are named)"
                ));
            }
        }
        if !problems.is_empty() {
            return Err(AppError::new(self.name(), problems));
        }
        if let Some(entries) = &self.entries {
            let updates = DesiredUpdates::default();
            // The clone holds no `Entries`: they hold the closure, and would keep each other alive.
            let (mut app, target) = (self.clone(), target.clone());
            app.entries = None;
            let registrations = settings.registrations.clone();
            entries.follow(updates.clone(), move |given| {
                app.desired(&registrations, &target, given).map_err(|error| error.problems)
            });
            settings.updates = Some(updates);
        }
        Ok(settings)
    }

    /// The desired content of the registered objects, with the entries `given`.
    fn desired(
        &self,
        registrations: &[RegistrationName],
        target: &Target,
        given: &[Entry],
    ) -> Result<Vec<Desired>, AppError> {
        let registration = self.registration_with(given, target, "")?;
        let names = registrations.iter().cloned().chain(self.unused_kinds(registrations));
        let desired = names.filter_map(|name| Some(Desired::new(name.clone(), registration.entries(&name)?)));
        let (mut all, mut problems) = (Vec::new(), Vec::new());
        for one in desired {
            match one {
                Ok(desired) => all.push(desired),
                Err(error) => problems.push(error.to_string()),
            }
        }
        if problems.is_empty() { Ok(all) } else { Err(AppError::new(self.name(), problems)) }
    }

    /// Configurations of the kinds that no hook needs now: an earlier version of the app may have registered hooks there.
    pub fn unused_kinds(&self, registrations: &[RegistrationName]) -> Vec<RegistrationName> {
        let kinds = [RegistrationKind::Mutating, RegistrationKind::Validating];
        let registered = registrations.iter().find(|name| kinds.contains(&name.kind));
        let name = registered.map_or(self.name(), |registration| &registration.name);
        let is_unused = |kind: &RegistrationKind| registrations.iter().all(|name| name.kind != *kind);
        let unused = kinds.into_iter().filter(is_unused);
        unused.map(|kind| RegistrationName { kind, name: name.to_owned() }).collect()
    }
}

impl Registration {
    /// The configurations for managed registration (`--registration-mode managed`), without the
    /// field `webhooks`: applying them again does not remove the entries that replicas wrote.
    ///
    /// Definitions keep their conversion: without it, objects of other versions would be stored unconverted, and lose the fields
    /// that the stored version does not know. Until a replica answers, the API server refuses such objects.
    #[must_use]
    pub fn without_entries(mut self) -> Self {
        self.mutating.iter_mut().for_each(|configuration| configuration.webhooks = None);
        self.validating.iter_mut().for_each(|configuration| configuration.webhooks = None);
        self
    }

    /// The desired entries of the object with this name, if the app registers hooks or a conversion there.
    fn entries(&self, name: &RegistrationName) -> Option<Vec<Value>> {
        let mutating = self.mutating.iter().flat_map(|it| &it.webhooks).flatten();
        let validating = self.validating.iter().flat_map(|it| &it.webhooks).flatten();
        match name.kind {
            RegistrationKind::Mutating => Some(mutating.map(|entry| json!(entry)).collect()),
            RegistrationKind::Validating => Some(validating.map(|entry| json!(entry)).collect()),
            RegistrationKind::CustomResource => {
                let mut definitions = self.definitions.iter();
                let definition = definitions.find(|it| it.metadata.name.as_ref() == Some(&name.name));
                let conversion = definition.and_then(|definition| definition.spec.conversion.as_ref());
                let conversion = conversion.or_else(|| self.conversions.get(&name.name))?;
                Some(vec![json!(conversion)])
            }
            _ => None,
        }
    }
}

/// Whether a certificate for these settings is valid at `target`.
fn is_for(settings: &Settings, target: &Target) -> bool {
    if let Some(service) = target.service_name() {
        return settings.service == Some(service);
    }
    let names = settings.all_names();
    target.dns_names().iter().all(|host| names.iter().any(|name| name.eq_ignore_ascii_case(host)))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::value::RawValue;
    use vestibule_admission::Operation::Create;

    use super::*;
    use crate::conversion::Conversion;
    use crate::handler::context::Context;
    use crate::handler::reject::Reject;
    use crate::registration::entries::Entries;
    use crate::registration::on::choices::FailurePolicy;
    use crate::registration::on::{on, on_raw};
    use crate::registration::rule::Rule;

    async fn same(pod: Pod, _: Context) -> Result<Pod, Reject> {
        Ok(pod)
    }

    fn app() -> App {
        let pods = || on::<Pod>([Create]).failure_policy(FailurePolicy::Fail);
        App::new("demo").mutate("label", pods(), same).mutate("stamp", pods(), same)
    }

    fn settings() -> Settings {
        app().identity_settings("shop/hook".parse().unwrap())
    }

    fn target() -> Target {
        Target::service("shop/hook").unwrap()
    }

    #[test]
    fn each_kind_of_configuration_gets_its_own_entries() {
        let settings = app().managed(settings(), &target()).unwrap();
        let names = |desired: &Desired| (desired.registration().to_string(), desired.entries().len());
        let desired: Vec<_> = settings.desired.iter().map(names).collect();
        assert_eq!(desired, [("mutating/demo".to_owned(), 2), ("validating/demo".to_owned(), 0)]);
        let entry = &settings.desired[0].entries()[0];
        assert_eq!(entry["name"], "label.demo.vestibule.dev");
        assert_eq!(entry["clientConfig"]["service"]["path"], "/mutate/label");
        assert!(entry["clientConfig"].get("caBundle").is_none());
    }

    #[test]
    fn a_definition_that_the_app_does_not_print_gets_its_conversion() {
        let raw = |name: &str| Conversion::raw(name, |object: &RawValue, _: &str| Ok(object.to_owned()));
        let app = App::new("demo").convert("a", raw("as.example.com")).convert("b", raw("bs.example.com"));
        let settings = app.identity_settings("shop/hook".parse().unwrap());
        let settings = app.managed(settings, &target()).unwrap();
        let names: Vec<_> = settings.desired.iter().map(|it| it.registration().to_string()).collect();
        assert_eq!(names, ["crd/as.example.com", "crd/bs.example.com", "mutating/demo", "validating/demo"]);
        let conversion = &settings.desired[1].entries()[0];
        assert_eq!(conversion["strategy"], "Webhook");
        assert_eq!(conversion["webhook"]["clientConfig"]["service"]["path"], "/convert/b");
    }

    #[test]
    fn entries_go_into_one_configuration_of_the_target_that_the_certificate_is_for() {
        let problem = |settings: Settings, target: &Target| app().managed(settings, target).err().unwrap();
        let other = Target::service("shop/other").unwrap();
        assert!(problem(settings(), &other).to_string().contains("not for shop/other:443"));
        for registrations in [&["mutating/a", "mutating/b"][..], &[]] {
            let mut settings = settings();
            settings.registrations = registrations.iter().map(|name| name.parse().unwrap()).collect();
            assert!(problem(settings, &target()).to_string().contains("--registration mutating/NAME"));
        }
        let mut behind_a_url = Settings::default();
        behind_a_url.names = vec!["127.0.0.1".to_owned()];
        behind_a_url.registrations = settings().registrations;
        assert!(app().managed(behind_a_url, &Target::url("https://127.0.0.1:9443").unwrap()).is_ok());
    }

    #[test]
    fn changing_entries_replace_those_of_their_hooks_in_order() {
        let on = |labels: &str| {
            on_raw([Rule::new("v1", "pods", [Create])]).failure_policy(FailurePolicy::Fail).namespaces(labels)
        };
        let entries = Entries::of(["label"]);
        let app = app().entries(&entries);
        let names = || {
            let registration = app.registration(&target(), "PEM").unwrap();
            let webhooks = registration.mutating.unwrap().webhooks.unwrap();
            let path = |client: &k8s_openapi::api::admissionregistration::v1::WebhookClientConfig| {
                client.service.as_ref().and_then(|service| service.path.clone()).unwrap()
            };
            webhooks.iter().map(|it| format!("{} {}", it.name, path(&it.client_config))).collect::<Vec<_>>()
        };
        assert_eq!(names(), ["stamp.demo.vestibule.dev /mutate/stamp"]);
        let managed = app.managed(settings(), &target()).unwrap();
        let updates = managed.updates.unwrap();
        let two = || vec![Entry::new("label", "label", on("a=b")), Entry::new("label", "label-2", on("c=d"))];
        entries.set(two()).unwrap();
        let label = ["label.demo.vestibule.dev /mutate/label", "label-2.demo.vestibule.dev /mutate/label"];
        assert_eq!(names(), [&label[..], &["stamp.demo.vestibule.dev /mutate/stamp"]].concat());
        let latest = updates.latest().unwrap();
        assert_eq!(latest[0].names().count(), 3);

        // Entries with problems change nothing.
        let error = entries.set([two(), two()].concat()).unwrap_err().to_string();
        assert!(error.contains("`label-2`: the name is taken"), "{error}");
        let error = entries.set(vec![Entry::new("stamp", "x", on("in ("))]).unwrap_err().to_string();
        assert!(
            error.contains("`x`: `.namespaces") && error.contains("`stamp` is none of the hooks"),
            "{error}"
        );
        assert_eq!(updates.latest(), Some(latest));
        assert_eq!(names().len(), 3);

        entries.set(Vec::new()).unwrap();
        assert_eq!(updates.latest().unwrap()[0].names().collect::<Vec<_>>(), ["stamp.demo.vestibule.dev"]);
    }
}
