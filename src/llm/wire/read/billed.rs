//! What OpenRouter charges for a call, in US dollars (<https://openrouter.ai/docs/use-cases/usage-accounting>).

use serde_json::Value;

/// The charge of a call. With a key of the user's own at the upstream provider (`is_byok`) `cost` is only OpenRouter's fee, and the upstream's part is
/// added; where that is missing, the charge is not known.
pub(super) fn charge(
    cost: Option<&Value>,
    is_byok: Option<&Value>,
    details: Option<&Value>,
) -> Option<f64> {
    let dollars = |value: &Value| value.as_f64().filter(|dollars| *dollars >= 0.0);
    let cost = dollars(cost?)?;
    if is_byok.and_then(Value::as_bool) != Some(true) {
        return Some(cost);
    }
    let upstream = dollars(details?.get("upstream_inference_cost")?)?;
    Some(cost + upstream)
}
