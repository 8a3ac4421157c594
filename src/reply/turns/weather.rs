//! The forecast for a place by name: the flow shows the tool with a place instead of coordinates, because small models invent those.

use serde_json::{Map, Value};

use crate::base::problem::{Outcome, Problem};
use crate::chat::message::ToolCall;
use crate::reply::tools::catalogue::WEATHER;
use crate::tools::engine::context::ToolContext;
use crate::tools::geo::geocode::look_up;

/// `call` with coordinates instead of a place; every other call as it is. `here` is where the user is, if that is known.
///
/// # Errors
/// There is no place, nobody knows it, or the service failed.
pub(crate) fn located(
    ctx: &ToolContext,
    call: &ToolCall,
    here: impl FnOnce() -> Option<String>,
) -> Outcome<ToolCall> {
    if call.name != WEATHER {
        return Ok(call.clone());
    }
    let mut args: Map<String, Value> = serde_json::from_str(&call.args).unwrap_or_default();
    let named = args.remove("location");
    let has = |keys: &[&str]| {
        let mut values = keys.iter().filter_map(|key| args.get(*key));
        values.any(|value| !value.is_null())
    };
    if has(&["latitude", "lat"]) && has(&["longitude", "lng", "lon", "long"]) {
        return Ok(with_args(call, args));
    }
    let named = named.as_ref().and_then(Value::as_str).map(str::trim);
    let named = named.filter(|place| !place.is_empty()).map(str::to_owned);
    let place = named.or_else(here).ok_or_else(|| {
        Problem::input("The forecast needs a place, and it is not known where the user is.")
            .next("Ask the user for the town, and call again with \"location\".")
    })?;
    let (latitude, longitude) = match coordinates(&place) {
        Some(point) => point,
        None => {
            let matches = look_up(ctx, &place, 1)?;
            let found = matches.places.first().ok_or_else(|| {
                Problem::missing(format!("No place called \"{place}\" was found."))
                    .next("Call again with the town and its country: \"Brest, France\".")
            })?;
            (found.point.lat, found.point.lon)
        }
    };
    args.insert("latitude".to_owned(), Value::from(latitude));
    args.insert("longitude".to_owned(), Value::from(longitude));
    Ok(with_args(call, args))
}

fn with_args(call: &ToolCall, args: Map<String, Value>) -> ToolCall {
    ToolCall {
        args: Value::Object(args).to_string(),
        ..call.clone()
    }
}

/// The numbers of a place that is written as two of them.
fn coordinates(place: &str) -> Option<(f64, f64)> {
    let (latitude, longitude) = place.split_once(',')?;
    Some((
        latitude.trim().parse().ok()?,
        longitude.trim().parse().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::env::Env;
    use crate::chat::event::NullSink;
    use crate::tools::engine::context::SessionContext;
    use crate::tools::engine::policy::ToolPolicy;
    use std::sync::Arc;

    #[test]
    fn a_forecast_has_coordinates_or_asks_for_the_place() {
        let session = SessionContext::new(Env::default(), ToolPolicy::default());
        let ctx = ToolContext::new(Arc::new(session), Cancel::new(), Arc::new(NullSink));
        let call = |name: &str, args: &str| ToolCall::new("a", name, args);
        let here = || Some("41.1, -8.6".to_owned());
        let args = |args: &str| {
            let call = located(&ctx, &call(WEATHER, args), here).unwrap();
            serde_json::from_str::<Value>(&call.args).unwrap()
        };
        let expected = serde_json::json!({"latitude": 1.0, "longitude": 2.0, "days": 2});
        assert_eq!(
            args(r#"{"latitude":1.0,"longitude":2.0,"days":2}"#),
            expected
        );
        assert_eq!(args(r#"{"location":"1.0,2.0","days":2}"#), expected);
        assert_eq!(args("{}")["latitude"], 41.1);
        let problem = located(&ctx, &call(WEATHER, "{}"), || None).unwrap_err();
        assert!(problem.for_model().contains("Ask the user"), "{problem}");
        let other = call("read_note", r#"{"location":"x"}"#);
        assert_eq!(located(&ctx, &other, || None).unwrap(), other);
    }
}
