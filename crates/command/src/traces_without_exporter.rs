//! In place of [`traces`](crate::traces) in a build without the feature `otel`: it makes no spans, and refuses the flags
//! that ask for them.

use clap::Args;

use super::CommandError;
use super::conflicts::refuse_given;
use crate::logs::ExtraLayers;
use vestibule::Options;

/// The flags of a build with the feature `otel`. They are in no help.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = super::TRACES)]
pub(super) struct TraceArguments {
    #[arg(long, env = "VESTIBULE_OTLP_ENDPOINT", value_name = "URL", hide = true)]
    otlp_endpoint: Option<String>,
    #[arg(long, env = "VESTIBULE_TRACE_RATIO", value_name = "RATIO", hide = true)]
    trace_ratio: Option<String>,
}

/// No layers.
pub(super) fn layers(arguments: &TraceArguments, _: &str) -> Result<ExtraLayers, CommandError> {
    let given = [
        ("--otlp-endpoint", arguments.otlp_endpoint.is_some()),
        ("--trace-ratio", arguments.trace_ratio.is_some()),
    ];
    refuse_given(&given, |flag| {
        CommandError::input(format_args!(
            "{flag} is about spans for OpenTelemetry, and this program was built without `otel`: build it with \
             `--features otel`, or leave the flag and its variable out"
        ))
    })?;
    Ok(ExtraLayers::new())
}

pub(super) fn observe(_: &mut Options) {}

pub(super) async fn finish() {}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        traces: TraceArguments,
    }

    /// Regression: clap said "unexpected argument".
    #[test]
    fn a_build_without_otel_says_so() {
        let refused = |flags: &[&str]| {
            let given = Command::try_parse_from([&["serve"], flags].concat()).unwrap();
            layers(&given.traces, "demo").map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(refused(&[]), Ok(()));
        for flags in [["--otlp-endpoint", "http://localhost:4318"], ["--trace-ratio", "1"]] {
            let error = refused(&flags).unwrap_err();
            assert!(error.starts_with(flags[0]) && error.contains("built without `otel`"), "{error}");
        }
    }
}
