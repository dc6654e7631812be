//! The flags about spans.

use clap::Args;

/// The collector of spans; without one, no spans are made.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = crate::TRACES)]
pub(crate) struct TraceArguments {
    /// The collector of OpenTelemetry that spans are posted to, by OTLP over HTTP. Unless given,
    /// OTEL_EXPORTER_OTLP_ENDPOINT; without either, none are made.
    #[arg(long, env = "VESTIBULE_OTLP_ENDPOINT", value_name = "URL")]
    pub(super) otlp_endpoint: Option<String>,
    /// The part of the calls without a trace of their caller that begins one: 0 to 1. A caller with a trace decides
    /// itself.
    #[arg(long, env = "VESTIBULE_TRACE_RATIO", default_value = "0.01", value_name = "RATIO", value_parser = ratio)]
    pub(super) trace_ratio: f64,
}

impl TraceArguments {
    /// Whether they or the variables of OpenTelemetry name a collector.
    pub(super) fn name_a_collector(&self) -> bool {
        let variables = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
        let elsewhere =
            variables.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        let off =
            std::env::var_os("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        !off && (elsewhere || self.otlp_endpoint.is_some())
    }
}

fn ratio(text: &str) -> Result<f64, String> {
    let ratio = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    ratio.ok_or_else(|| "write a number from 0 to 1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::ratio;

    #[test]
    fn a_ratio_is_between_0_and_1() {
        assert_eq!((ratio("0"), ratio("1"), ratio("0.25")), (Ok(0.0), Ok(1.0), Ok(0.25)));
        for text in ["-1", "1.5", "NaN", "half"] {
            assert!(ratio(text).is_err(), "{text}");
        }
    }
}
