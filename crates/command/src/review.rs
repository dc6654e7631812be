//! `review`: answers one review as the server does, and prints the answer.

mod report;

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tokio::time::Instant;
use vestibule_admission::{Decision, Request, Review};

use self::report::Report;
use super::connection::KubeconfigArguments;
use super::{CommandError, colour, print};
use vestibule::App;
use vestibule::tooling::{Environment, HookEntry, RegisteredHook};

/// The review, and the hook that answers it.
#[derive(Args, Clone, Debug)]
pub struct ReviewArguments {
    /// A file with an AdmissionReview; stdin unless given, or `-`.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The name of the hook. Needed if the review is for several.
    #[arg(long, value_name = "NAME")]
    hook: Option<String>,
    #[command(flatten)]
    cluster: KubeconfigArguments,
    /// The output.
    #[arg(long, short, value_enum, default_value = "text", value_name = "FORMAT")]
    output: Format,
    /// When to colour. `auto` follows NO_COLOR and CLICOLOR_FORCE.
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    color: colour::When,
}

/// The output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The decision, what changes in the object, warnings and notes for the audit log.
    Text,
    /// The same for programs: decision, HTTP status, patch, and the answer as it would be sent.
    Json,
}

impl ReviewArguments {
    /// Answers one review with a hook of `app` and prints the answer: deadline, panics and the check of the patch are
    /// as in a server. The exit code is the verdict: 0 for an allowed or mutated request, 1 for a denied one, 2 for a
    /// fault or an invalid review.
    ///
    /// # Errors
    /// The app is not in order, the review cannot be read, or it is not clear which hook it is for.
    pub async fn run(&self, app: &App) -> Result<ExitCode, CommandError> {
        let (text, code) = self.answer(app, &self.read()?).await?;
        print(&text).map(|()| ExitCode::from(code))
    }

    /// The text to print, and the exit code.
    async fn answer(&self, app: &App, body: &[u8]) -> Result<(String, u8), CommandError> {
        app.check().map_err(CommandError::input)?;
        let review = Review::parse(body).map_err(CommandError::input)?;
        let registered = self.choose(app, &review.request)?;
        let entry = &registered.entry;
        let environment = self.environment(app).await?;
        let hook = registered.hook(&environment);

        let timeout = Duration::from_secs(entry.on.timeout_seconds.into());
        let budget = vestibule_server::budget(timeout);
        let began = Instant::now();
        let deadline = began + budget;
        let decision = hook.decide(&review.request, deadline.into_std());
        let verdict = tokio::time::timeout_at(deadline, decision).await;
        let verdict = verdict.unwrap_or_else(|_| hook.out_of_time(budget, timeout));
        let verdict = hook.check(&review, verdict);
        let answer = hook.encode(&review, &verdict);
        let took = began.elapsed();
        let report = Report { entry, request: &review.request, verdict: &verdict, answer: &answer, took };
        let text = match self.output {
            Format::Text => report.text(self.color.palette())?,
            Format::Json => report.json()?,
        };
        let code = match answer.decision {
            Decision::Allowed | Decision::Mutated(_) => 0,
            Decision::Denied(_) => 1,
            _ => 2,
        };
        Ok((text, code))
    }

    /// Waits until lookups are filled, as the readiness of a server does.
    async fn environment(&self, app: &App) -> Result<Environment, CommandError> {
        const PATIENCE: Duration = Duration::from_secs(10);
        let needed = |error| CommandError::input(format_args!("the webhook looks objects up, and {error}"));
        let client = match app.looks_up() {
            true => Some(self.cluster.connect().await.map_err(needed)?.client().clone()),
            false => None,
        };
        let environment = app.environment(client).map_err(CommandError::input)?;
        let filled = async {
            while !environment.missing_lookups().is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        // The answer names lookups that are still missing.
        let _late = tokio::time::timeout(PATIENCE, filled).await;
        Ok(environment)
    }

    fn read(&self) -> Result<Vec<u8>, CommandError> {
        let path = self.file.as_deref().filter(|file| file.as_os_str() != "-");
        let (what, read) = match path {
            Some(file) => (file.display().to_string(), std::fs::read(file)),
            None => {
                let mut body = Vec::new();
                ("stdin".to_owned(), std::io::stdin().read_to_end(&mut body).map(|_| body))
            }
        };
        read.map_err(|error| CommandError::input(format_args!("cannot read {what}: {error}")))
    }

    fn choose<'a>(&self, app: &'a App, request: &Request<'_>) -> Result<&'a RegisteredHook, CommandError> {
        let hooks = app.hooks();
        let names = |hooks: &[&RegisteredHook]| {
            hooks.iter().map(|hook| &*hook.entry.name).collect::<Vec<_>>().join(", ")
        };
        if let Some(name) = &self.hook {
            let named = hooks.iter().find(|registered| registered.entry.name == *name);
            return named.ok_or_else(|| {
                let all = names(&hooks.iter().collect::<Vec<_>>());
                CommandError::input(format_args!("there is no hook `{name}`; there are {all}"))
            });
        }
        let asked = |entry: &HookEntry| entry.on.rules.iter().any(|rule| rule.is_for(request));
        let asked: Vec<_> = hooks.iter().filter(|registered| asked(&registered.entry)).collect();
        match asked.as_slice() {
            [hook] => Ok(hook),
            [] => Err(CommandError::input(format_args!(
                "no hook is called for {} of {}: --hook NAME calls a hook nevertheless",
                request.operation,
                report::resource(request)
            ))),
            several => Err(CommandError::input(format_args!(
                "several hooks are called for {} of {}: say which by --hook, one of {}",
                request.operation,
                report::resource(request),
                names(several)
            ))),
        }
    }
}

#[cfg(test)]
mod tests;
