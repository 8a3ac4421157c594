//! A route step as a sentence: every maneuver type and modifier of OSRM.

use serde_json::Value;

use super::route::name;
use crate::base::json::JsonExt;
use crate::base::text::uncapitalize;
use crate::tools::output::measures::compass;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LegEnd {
    Waypoint(usize),
    Destination,
}

/// Whether a step matters: departure, arrival, or a way to go.
pub(super) fn counts(step: &Value) -> bool {
    let kind = step.text("maneuver/type");
    matches!(kind, Some("depart" | "arrive"))
        || step
            .number("distance")
            .map_or(kind.is_some(), |metres| metres > 0.0)
}

pub(super) fn instruction(step: &Value, end: LegEnd) -> String {
    let kind = step.text("maneuver/type").unwrap_or_default();
    let way = StepModifier::of(step.text("maneuver/modifier").unwrap_or_default());
    let signs = step.text("destinations").map(name);
    let (onto, on) = match (road(step), &signs) {
        // The text of the sign says enough.
        (None, Some(_)) => (String::new(), String::new()),
        (None, None) => (
            " onto an unnamed road".to_owned(),
            " on an unnamed road".to_owned(),
        ),
        (Some(road), _) => (format!(" onto {road}"), format!(" on {road}")),
    };
    let exit = step
        .whole("maneuver/exit")
        .filter(|exit| (1..100).contains(exit));
    let circle = |what: &str| match exit {
        Some(exit) => format!("Enter {what} and take exit {exit}{onto}"),
        None => format!("Enter {what}"),
    };
    let rotary = || match step.text("rotary_name").map(name) {
        Some(known) => format!("the rotary {known}"),
        None => "the rotary".to_owned(),
    };
    let words = match kind {
        "depart" => match step.number("maneuver/bearing_after") {
            Some(degrees) => format!("Head {}{on}", compass(degrees)),
            None => format!("Start{on}"),
        },
        "arrive" => {
            return match end {
                LegEnd::Destination => format!("Arrive at the destination{}", way.side()),
                LegEnd::Waypoint(number) => format!("Reach waypoint {number}{}", way.side()),
            };
        }
        "new name" => format!("Continue{}{onto}", way.gently()),
        "continue" if way == StepModifier::Back => format!("Make a U-turn and continue{on}"),
        "continue" => format!("Continue{}{on}", way.plain()),
        "merge" => format!("Merge{}{onto}", way.gently()),
        "on ramp" => format!("Take the ramp{}{onto}", way.at()),
        "off ramp" => format!("Take the exit{}{onto}", way.at()),
        "fork" => match way {
            StepModifier::Back => format!("Make a U-turn at the fork{onto}"),
            StepModifier::None => format!("Keep on at the fork{onto}"),
            StepModifier::Side("slightly ", side) => format!("Keep {side} at the fork{onto}"),
            way => format!("Keep{} at the fork{onto}", way.plain()),
        },
        "end of road" => format!("At the end of the road {}{onto}", uncapitalize(&way.turn())),
        "use lane" => match way {
            StepModifier::None => format!("Stay in your lane{on}"),
            way => format!("Use the lane{}{on}", way.lane()),
        },
        "roundabout" => circle("the roundabout"),
        "exit roundabout" => format!("Leave the roundabout{onto}"),
        "rotary" => circle(&rotary()),
        "exit rotary" => format!("Leave {}{onto}", rotary()),
        "roundabout turn" => format!("At the roundabout {}{onto}", uncapitalize(&way.turn())),
        "exit roundabout turn" => format!("Leave the roundabout{}{onto}", way.plain()),
        "notification" if step.text("mode") == Some("ferry") => {
            return format!("Take the ferry{on}");
        }
        "notification" => format!("Continue{on}"),
        // Unknown maneuvers of newer servers are treated as turns, as OSRM documents.
        _ => format!("{}{onto}", way.turn()),
    };
    let towards = signs.map(|signs| format!(" towards {signs}"));
    let means = match step.text("mode") {
        Some("ferry") => ", by ferry",
        Some("train") => ", by train",
        Some("pushing bike") => ", pushing the bicycle",
        _ => "",
    };
    format!("{words}{}{means}", towards.unwrap_or_default())
}

/// The road's name with its number, or its number.
fn road(step: &Value) -> Option<String> {
    let (called, number) = (step.text("name").map(name), step.text("ref").map(name));
    match (called, number) {
        (Some(called), Some(number)) if called != number => Some(format!("{called} ({number})")),
        (called, number) => called.or(number),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepModifier {
    None,
    Back,
    Straight,
    /// A side, with its prefix (`sharp `, `slightly ` or none).
    Side(&'static str, &'static str),
}

impl StepModifier {
    fn of(modifier: &str) -> Self {
        match modifier {
            "uturn" => Self::Back,
            "straight" => Self::Straight,
            "left" => Self::Side("", "left"),
            "right" => Self::Side("", "right"),
            "sharp left" => Self::Side("sharp ", "left"),
            "sharp right" => Self::Side("sharp ", "right"),
            "slight left" => Self::Side("slightly ", "left"),
            "slight right" => Self::Side("slightly ", "right"),
            _ => Self::None,
        }
    }

    /// As a sentence of its own.
    fn turn(self) -> String {
        match self {
            Self::None => "Turn".to_owned(),
            Self::Back => "Make a U-turn".to_owned(),
            Self::Straight => "Go straight".to_owned(),
            Self::Side(how, side) => format!("Turn {how}{side}"),
        }
    }

    /// After a verb: ` left`, ` sharp right`, ` straight`.
    fn plain(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Back => " with a U-turn".to_owned(),
            Self::Straight => " straight".to_owned(),
            Self::Side(how, side) => format!(" {how}{side}"),
        }
    }

    /// After a verb that already implies straight on.
    fn gently(self) -> String {
        match self {
            Self::Straight => String::new(),
            way => way.plain(),
        }
    }

    /// The position of a ramp.
    fn at(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Back => " with a U-turn".to_owned(),
            Self::Straight => " straight ahead".to_owned(),
            Self::Side("sharp ", side) => format!(" on the {side} (a sharp turn)"),
            Self::Side(_, side) => format!(" on the {side}"),
        }
    }

    fn lane(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Back => " for a U-turn".to_owned(),
            Self::Straight => " that goes straight".to_owned(),
            Self::Side(how, side) => format!(" that goes {how}{side}"),
        }
    }

    fn side(self) -> String {
        match self {
            Self::None | Self::Back => String::new(),
            Self::Straight => ", straight ahead".to_owned(),
            Self::Side(_, side) => format!(", on the {side}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(kind: &str, modifier: &str) -> String {
        let mut step = json!({"name": "Elm Row", "distance": 10, "mode": "driving", "maneuver": {"type": kind}});
        if !modifier.is_empty() {
            step["maneuver"]["modifier"] = json!(modifier);
        }
        instruction(&step, LegEnd::Destination)
    }

    #[test]
    fn every_maneuver_and_modifier_has_its_words() {
        let kinds = [
            "depart",
            "arrive",
            "turn",
            "new name",
            "continue",
            "merge",
            "on ramp",
            "off ramp",
            "fork",
            "end of road",
            "use lane",
            "roundabout",
            "exit roundabout",
            "rotary",
            "exit rotary",
            "roundabout turn",
            "exit roundabout turn",
            "notification",
            "something new",
        ];
        let modifiers = [
            "",
            "uturn",
            "sharp right",
            "right",
            "slight right",
            "straight",
            "slight left",
            "left",
            "sharp left",
            "odd",
        ];
        let mut all = String::new();
        for kind in kinds {
            for modifier in modifiers {
                let words = said(kind, modifier);
                assert!(
                    words.contains("Elm Row") || kind == "arrive" || words.starts_with("Enter"),
                    "{kind} {modifier}: {words}"
                );
                assert!(!words.contains("  ") && words.is_ascii(), "{words}");
                all.push_str(&format!("{kind} / {modifier}: {words}\n"));
            }
        }
        for line in [
            "depart / : Start on Elm Row",
            "arrive / : Arrive at the destination",
            "arrive / slight left: Arrive at the destination, on the left",
            "arrive / straight: Arrive at the destination, straight ahead",
            "turn / sharp left: Turn sharp left onto Elm Row",
            "turn / uturn: Make a U-turn onto Elm Row",
            "turn / straight: Go straight onto Elm Row",
            "turn / : Turn onto Elm Row",
            "new name / straight: Continue onto Elm Row",
            "new name / slight right: Continue slightly right onto Elm Row",
            "continue / uturn: Make a U-turn and continue on Elm Row",
            "continue / left: Continue left on Elm Row",
            "merge / slight left: Merge slightly left onto Elm Row",
            "on ramp / right: Take the ramp on the right onto Elm Row",
            "off ramp / slight right: Take the exit on the right onto Elm Row",
            "fork / slight left: Keep left at the fork onto Elm Row",
            "end of road / right: At the end of the road turn right onto Elm Row",
            "end of road / uturn: At the end of the road make a U-turn onto Elm Row",
            "use lane / straight: Use the lane that goes straight on Elm Row",
            "roundabout / right: Enter the roundabout",
            "exit roundabout / right: Leave the roundabout onto Elm Row",
            "roundabout turn / left: At the roundabout turn left onto Elm Row",
            "exit roundabout turn / left: Leave the roundabout left onto Elm Row",
            "notification / : Continue on Elm Row",
            "something new / left: Turn left onto Elm Row",
        ] {
            assert!(all.lines().any(|own| own == line), "{line} not in\n{all}");
        }
    }

    #[test]
    fn roads_are_called_by_name_by_number_or_not_at_all() {
        let step = |name: &str, number: Option<&str>| {
            let step = json!({"name": name, "ref": number, "maneuver": {"type": "turn", "modifier": "left"}});
            instruction(&step, LegEnd::Destination)
        };
        assert_eq!(step("", None), "Turn left onto an unnamed road");
        assert_eq!(step(" ", Some("B 96")), "Turn left onto B 96");
        assert_eq!(
            step("Elm Row", Some("B 96")),
            "Turn left onto Elm Row (B 96)"
        );
        assert_eq!(step("B 96", Some("B 96")), "Turn left onto B 96");
        assert_eq!(step("A\u{1b}[2J\nB", None), "Turn left onto A\\x1b[2J B");
    }

    #[test]
    fn what_a_step_has_besides_is_told() {
        let step = |mut more: Value| {
            if more["name"].is_null() {
                more["name"] = json!("Elm Row");
            }
            instruction(&more, LegEnd::Waypoint(2))
        };
        for (given, wanted) in [
            (
                json!({"maneuver": {"type": "depart", "bearing_after": 204}}),
                "Head southwest on Elm Row",
            ),
            (
                json!({"maneuver": {"type": "roundabout", "exit": 3}}),
                "Enter the roundabout and take exit 3 onto Elm Row",
            ),
            (
                json!({"maneuver": {"type": "rotary", "exit": 1}, "rotary_name": "Star"}),
                "Enter the rotary Star and take exit 1 onto Elm Row",
            ),
            (
                json!({"maneuver": {"type": "exit rotary"}, "rotary_name": "Star"}),
                "Leave the rotary Star onto Elm Row",
            ),
            (
                json!({"maneuver": {"type": "off ramp"}, "destinations": "A 7: Ulm"}),
                "Take the exit onto Elm Row towards A 7: Ulm",
            ),
            (
                json!({"maneuver": {"type": "notification"}, "mode": "ferry"}),
                "Take the ferry on Elm Row",
            ),
            (
                json!({"maneuver": {"type": "turn"}, "mode": "pushing bike"}),
                "Turn onto Elm Row, pushing the bicycle",
            ),
            (
                json!({"maneuver": {"type": "arrive", "modifier": "right"}}),
                "Reach waypoint 2, on the right",
            ),
            (json!({"maneuver": 7}), "Turn onto Elm Row"),
        ] {
            assert_eq!(step(given), wanted);
        }
    }

    #[test]
    fn steps_of_no_length_are_passed_over() {
        let step = |kind: &str, distance: Value| {
            counts(&json!({"distance": distance, "maneuver": {"type": kind}}))
        };
        assert!(step("depart", json!(0)) && step("arrive", json!(0.0)) && step("turn", json!(0.2)));
        assert!(!step("turn", json!(0)) && !step("exit roundabout", json!(-0.0)));
        assert!(step("turn", Value::Null));
        // An empty modifier does not mean a turn.
        for nothing in [
            json!({}),
            json!(null),
            json!({"name": "Elm Row", "maneuver": {}}),
        ] {
            assert!(!counts(&nothing), "{nothing}");
        }
    }
}
