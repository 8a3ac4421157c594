//! Google's place types as OpenStreetMap tags, and Overpass queries for them.

use std::fmt::Write as _;

use super::query::{escaped, literal};
use crate::tools::geo::point::Coordinates;

/// Google's types and the equivalent tags, one type per line; `&` joins tags that are both required.
const KINDS: &str = "\
restaurant amenity=restaurant
cafe amenity=cafe
coffee_shop amenity=cafe
tea_house amenity=cafe
bar amenity=bar
pub amenity=pub
fast_food_restaurant amenity=fast_food
meal_takeaway amenity=fast_food
hamburger_restaurant amenity=fast_food&cuisine=burger
ice_cream_shop amenity=ice_cream
food_court amenity=food_court
night_club amenity=nightclub
bakery shop=bakery
supermarket shop=supermarket
grocery_store shop=supermarket
convenience_store shop=convenience
liquor_store shop=alcohol
butcher_shop shop=butcher
market amenity=marketplace
book_store shop=books
clothing_store shop=clothes
shoe_store shop=shoes
electronics_store shop=electronics
hardware_store shop=hardware
home_improvement_store shop=doityourself
furniture_store shop=furniture
jewelry_store shop=jewelry
pet_store shop=pet
bicycle_store shop=bicycle
sporting_goods_store shop=sports
gift_shop shop=gift
toy_store shop=toys
florist shop=florist
department_store shop=department_store
shopping_mall shop=mall
hair_salon shop=hairdresser
hair_care shop=hairdresser
barber_shop shop=hairdresser
beauty_salon shop=beauty
laundry shop=laundry
car_repair shop=car_repair
car_dealer shop=car
travel_agency shop=travel_agency
gym leisure=fitness_centre
fitness_center leisure=fitness_centre
sports_complex leisure=sports_centre
swimming_pool leisure=swimming_pool
stadium leisure=stadium
golf_course leisure=golf_course
bowling_alley leisure=bowling_alley
park leisure=park
dog_park leisure=dog_park
playground leisure=playground
marina leisure=marina
beach natural=beach
hotel tourism=hotel
lodging tourism=hotel
motel tourism=motel
hostel tourism=hostel
guest_house tourism=guest_house
bed_and_breakfast tourism=guest_house
campground tourism=camp_site
rv_park tourism=caravan_site
museum tourism=museum
art_gallery tourism=gallery
tourist_attraction tourism=attraction
visitor_center tourism=information
zoo tourism=zoo
aquarium tourism=aquarium
amusement_park tourism=theme_park
movie_theater amenity=cinema
performing_arts_theater amenity=theatre
cultural_center amenity=arts_centre
community_center amenity=community_centre
gas_station amenity=fuel
electric_vehicle_charging_station amenity=charging_station
parking amenity=parking
car_rental amenity=car_rental
car_wash amenity=car_wash
taxi_stand amenity=taxi
ferry_terminal amenity=ferry_terminal
bus_station amenity=bus_station
bus_stop highway=bus_stop
train_station railway=station
light_rail_station railway=station
subway_station railway=station&station=subway
airport aeroway=aerodrome
pharmacy amenity=pharmacy
drugstore amenity=pharmacy
hospital amenity=hospital
doctor amenity=doctors
dentist amenity=dentist
dental_clinic amenity=dentist
veterinary_care amenity=veterinary
physiotherapist healthcare=physiotherapist
bank amenity=bank
atm amenity=atm
post_office amenity=post_office
library amenity=library
school amenity=school
primary_school amenity=school
secondary_school amenity=school
preschool amenity=kindergarten
child_care_agency amenity=childcare
university amenity=university
police amenity=police
fire_station amenity=fire_station
city_hall amenity=townhall
courthouse amenity=courthouse
embassy office=diplomatic
cemetery landuse=cemetery
public_bathroom amenity=toilets
place_of_worship amenity=place_of_worship
church amenity=place_of_worship&religion=christian
mosque amenity=place_of_worship&religion=muslim
synagogue amenity=place_of_worship&religion=jewish
hindu_temple amenity=place_of_worship&religion=hindu";

fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    KINDS.lines().filter_map(|line| line.split_once(' '))
}
/// How many elements the server sends per circle.
const MAX_ELEMENTS: usize = 200;
/// For larger radii a circle of a fifth is searched first: the server truncates by age of the entry, not by distance.
const WIDE_RADIUS_METRES: f64 = 1_000.0;

/// A type in Google's spelling: `Coffee shops` becomes `coffee_shop`.
pub(crate) fn plain(name: &str) -> String {
    let name = name.trim().to_lowercase().replace([' ', '-'], "_");
    let is_known = |name: &&str| kinds().any(|(own, _)| own == *name);
    if is_known(&name.as_str()) {
        return name;
    }
    let several = [("ies", "y"), ("es", ""), ("s", "")]
        .iter()
        .find_map(|(end, one)| {
            let one = format!("{}{one}", name.strip_suffix(end)?);
            is_known(&one.as_str()).then_some(one)
        });
    several.unwrap_or(name)
}

/// The tags of one of Google's types. `italian_restaurant` is a restaurant with that cuisine, an OpenStreetMap value stands for its tag, and an
/// unknown type is an amenity.
fn tags(kind: &str) -> Vec<(String, String)> {
    let is_value = |tags: &str| tags.split_once('=').is_some_and(|(_, value)| value == kind);
    let known = kinds().find(|(name, _)| *name == kind);
    let known = known.or_else(|| kinds().find(|(_, tags)| is_value(tags)));
    let pair = |tag: &str| {
        let (key, value) = tag.split_once('=').unwrap_or((tag, ""));
        (key.to_owned(), value.to_owned())
    };
    match (known, kind.strip_suffix("_restaurant")) {
        (Some((_, tags)), _) => tags.split('&').map(pair).collect(),
        (None, Some(cuisine)) => {
            vec![
                pair("amenity=restaurant"),
                ("cuisine".to_owned(), cuisine.to_owned()),
            ]
        }
        (None, None) => vec![("amenity".to_owned(), kind.to_owned())],
    }
}

/// Query conditions for these types: those that differ only in the value are combined.
fn conditions(kinds: &[String]) -> Vec<String> {
    let mut simple: Vec<(String, Vec<String>)> = Vec::new();
    let mut double = Vec::new();
    for kind in kinds {
        match tags(kind).as_slice() {
            [(key, value)] => match simple.iter_mut().find(|(own, _)| own == key) {
                Some((_, values)) if values.contains(value) => {}
                Some((_, values)) => values.push(value.clone()),
                None => simple.push((key.clone(), vec![value.clone()])),
            },
            [(key, value), (other, wanted)] => {
                // One tag may list several cuisines.
                let part = match other.as_str() {
                    "cuisine" => format!("[\"cuisine\"~\"(^|;) *{}\"]", escaped(&literal(wanted))),
                    _ => equal(other, wanted),
                };
                double.push(format!("{}{part}", equal(key, value)));
            }
            _ => {}
        }
    }
    let gathered = simple
        .into_iter()
        .map(|(key, values)| match values.as_slice() {
            [value] => equal(&key, value),
            values => {
                let any: Vec<String> = values
                    .iter()
                    .map(|value| escaped(&literal(value)))
                    .collect();
                format!("[\"{}\"~\"^({})$\"]", escaped(&key), any.join("|"))
            }
        });
    gathered.chain(double).collect()
}

fn equal(key: &str, value: &str) -> String {
    format!("[\"{}\"=\"{}\"]", escaped(key), escaped(value))
}

/// A query for these types ([`plain`]) around a point.
pub(crate) fn query(kinds: &[String], centre: Coordinates, radius: f64) -> String {
    use crate::base::text::trim_decimals;
    let conditions = conditions(kinds);
    let mut out = "[out:json][timeout:15];".to_owned();
    let near = (radius >= WIDE_RADIUS_METRES).then_some(radius / 5.0);
    for radius in near.into_iter().chain([radius]) {
        let (lat, lon) = (trim_decimals(centre.lat, 7), trim_decimals(centre.lon, 7));
        out.push('(');
        for condition in &conditions {
            let _ = write!(
                out,
                "nwr{condition}(around:{},{lat},{lon});",
                trim_decimals(radius, 0)
            );
        }
        let _ = write!(out, ");out center {MAX_ELEMENTS};");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(kinds: &[&str]) -> Vec<String> {
        conditions(&kinds.iter().map(|kind| plain(kind)).collect::<Vec<_>>())
    }

    #[test]
    fn kinds_become_tags() {
        for (kind, wanted) in [
            ("restaurant", r#"["amenity"="restaurant"]"#),
            ("cafe", r#"["amenity"="cafe"]"#),
            ("bar", r#"["amenity"="bar"]"#),
            ("bakery", r#"["shop"="bakery"]"#),
            ("supermarket", r#"["shop"="supermarket"]"#),
            ("gym", r#"["leisure"="fitness_centre"]"#),
            ("hotel", r#"["tourism"="hotel"]"#),
            ("park", r#"["leisure"="park"]"#),
            ("gas_station", r#"["amenity"="fuel"]"#),
            ("Gas Station", r#"["amenity"="fuel"]"#),
            ("Pharmacies", r#"["amenity"="pharmacy"]"#),
            ("bus stops", r#"["highway"="bus_stop"]"#),
            (
                "churches",
                r#"["amenity"="place_of_worship"]["religion"="christian"]"#,
            ),
            ("theme_park", r#"["tourism"="theme_park"]"#),
            ("bbq", r#"["amenity"="bbq"]"#),
            (
                "mosque",
                r#"["amenity"="place_of_worship"]["religion"="muslim"]"#,
            ),
            (
                "thai_restaurant",
                r#"["amenity"="restaurant"]["cuisine"~"(^|;) *thai"]"#,
            ),
            ("a\"];node(1);//", r#"["amenity"="a\"];node(1);//"]"#),
        ] {
            assert_eq!(of(&[kind]), [wanted], "{kind}");
        }
        assert_eq!(
            of(&["restaurant", "cafe", "park", "coffee_shop", "x|y"]),
            [
                r#"["amenity"~"^(restaurant|cafe|x\\|y)$"]"#,
                r#"["leisure"="park"]"#
            ]
        );
    }

    #[test]
    fn no_kind_is_twice_in_the_table() {
        for (i, (name, tags)) in kinds().enumerate() {
            assert!(
                kinds().skip(i + 1).all(|(other, _)| other != name),
                "{name}"
            );
            assert!(tags.split('&').count() <= 2 && tags.contains('='), "{name}");
        }
    }

    #[test]
    fn queries_ask_for_all_shapes_and_the_near_ones_first() {
        let at = Coordinates::new(0.0, -4.5).unwrap();
        assert_eq!(
            query(&["cafe".to_owned()], at, 300.4),
            r#"[out:json][timeout:15];(nwr["amenity"="cafe"](around:300,0,-4.5););out center 200;"#
        );
        assert_eq!(
            query(&["cafe".to_owned()], at, 5000.0),
            "[out:json][timeout:15];(nwr[\"amenity\"=\"cafe\"](around:1000,0,-4.5););out center 200;\
             (nwr[\"amenity\"=\"cafe\"](around:5000,0,-4.5););out center 200;"
        );
    }

    proptest! {
        #[test]
        fn no_kind_gets_out_of_its_quotes(kinds in proptest::collection::vec(".{0,20}", 1..4)) {
            let kinds: Vec<String> = kinds.iter().map(|kind| plain(kind)).collect();
            for condition in conditions(&kinds) {
                // Without quoted strings only the structure is left.
                let mut frame = String::new();
                let (mut inside, mut skip) = (false, false);
                for c in condition.chars() {
                    match c {
                        _ if skip => skip = false,
                        '\\' if inside => skip = true,
                        '"' => inside = !inside,
                        c if !inside => frame.push(c),
                        _ => {}
                    }
                }
                prop_assert!(!inside && frame.chars().all(|c| "[]=~".contains(c)), "{}", condition);
            }
        }
    }
}
