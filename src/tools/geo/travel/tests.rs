//! Lists of waypoints.

use super::*;

#[test]
fn stops_are_pairs_between_semicolons() {
    for (text, wanted) in [
        ("", vec![]),
        (" ; ", vec![]),
        ("52.52,13.405", vec![(52.52, 13.405)]),
        ("1, 2; (3,-4) ;", vec![(1.0, 2.0), (3.0, -4.0)]),
        ("0 0|5\t6", vec![(0.0, 0.0), (5.0, 6.0)]),
    ] {
        assert_eq!(waypoints(text).unwrap(), wanted, "{text}");
    }
    for text in ["1", "1,2,3", "a,b", "1,nan", "1;2", "Köln; Bonn", "1,inf"] {
        let problem = waypoints(text).unwrap_err();
        assert!(problem.one_line().contains("Waypoint 1, \""), "{text}");
    }
    assert!(waypoints("1,2;x").unwrap_err().what.contains("Waypoint 2"));
    assert!(waypoints(&"x".repeat(1 << 20)).unwrap_err().what.len() < 200);
}
