//! A point on earth.

use std::fmt;

use libm::{asin, atan2, cos, hypot, sin};

use crate::base::problem::{Outcome, Problem};

/// Mean radius of the earth in metres (IUGG).
const RADIUS: f64 = 6_371_008.8;

/// Latitude and longitude, always in range. Zero for both is a valid point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Coordinates {
    /// Degrees north, -90 to 90.
    pub(crate) lat: f64,
    /// Degrees east, -180 to 180.
    pub(crate) lon: f64,
}

impl Coordinates {
    /// A point from a caller's input.
    ///
    /// # Errors
    /// `Input` for what is out of range, with a hint when the two look swapped.
    pub(crate) fn new(lat: f64, lon: f64) -> Outcome<Self> {
        Self::found(lat, lon).ok_or_else(|| {
            let problem = Problem::input(format!(
                "Latitude {lat}, longitude {lon} is not a place: latitude ranges from -90 to 90, longitude from -180 to 180."
            ));
            if Self::found(lon, lat).is_some() {
                problem.next("The two may have been swapped.")
            } else {
                problem.next("Give decimal degrees, for example latitude 52.52, longitude 13.405.")
            }
        })
    }

    /// A point from a response; `None` when it is out of range.
    pub(crate) fn found(lat: f64, lon: f64) -> Option<Self> {
        let good = (-90.0..=90.0).contains(&lat) && (-180.0..=180.0).contains(&lon);
        good.then_some(Self { lat, lon })
    }

    /// Metres to another point along the earth's surface (haversine).
    pub(crate) fn metres_to(self, other: Self) -> f64 {
        let (a, b) = (self.lat.to_radians(), other.lat.to_radians());
        let half = |from: f64, to: f64| sin((to - from) / 2.0).powi(2);
        let h = half(a, b) + cos(a) * cos(b) * half(self.lon.to_radians(), other.lon.to_radians());
        2.0 * RADIUS * asin(h.clamp(0.0, 1.0).sqrt())
    }

    /// The midpoint on the surface; this point when the two are antipodes.
    pub(crate) fn halfway(self, other: Self) -> Self {
        let vector = |point: Self| {
            let (lat, lon) = (point.lat.to_radians(), point.lon.to_radians());
            [cos(lat) * cos(lon), cos(lat) * sin(lon), sin(lat)]
        };
        let ([ax, ay, az], [bx, by, bz]) = (vector(self), vector(other));
        let (x, y, z) = (ax + bx, ay + by, az + bz);
        let flat = hypot(x, y);
        if hypot(flat, z) < 1e-9 {
            return self;
        }
        let round = |degrees: f64| (degrees * 1e4).round() / 1e4;
        let (lat, lon) = (atan2(z, flat).to_degrees(), atan2(y, x).to_degrees());
        Self::found(round(lat), round(lon)).unwrap_or(self)
    }

    /// How many degrees of longitude are as long here as `degrees` of latitude.
    pub(crate) fn wide(self, degrees: f64) -> f64 {
        (degrees / cos(self.lat.to_radians()).max(0.01)).min(180.0)
    }
}

impl fmt::Display for Coordinates {
    /// `52.52, 13.405`: latitude first, at most six decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use crate::base::text::trim_decimals;
        write!(
            f,
            "{}, {}",
            trim_decimals(self.lat, 6),
            trim_decimals(self.lon, 6)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;

    #[test]
    fn points_are_in_range_and_distances_right() {
        assert!(Coordinates::new(0.0, 0.0).is_ok() && Coordinates::new(-90.0, 180.0).is_ok());
        for (lat, lon) in [
            (90.1, 0.0),
            (0.0, -180.1),
            (f64::NAN, 0.0),
            (0.0, f64::INFINITY),
        ] {
            assert!(Coordinates::new(lat, lon).is_err(), "{lat} {lon}");
        }
        assert_has(
            &Coordinates::new(120.0, 40.0).unwrap_err().one_line(),
            &["swapped"],
        );
        let berlin = Coordinates::new(52.520_008, 13.404_954).unwrap();
        let paris = Coordinates::new(48.8566, 2.3522).unwrap();
        assert!((berlin.metres_to(paris) - 877_460.0).abs() < 1_000.0);
        assert!(berlin.metres_to(berlin) < 1e-6);
        assert_eq!(Coordinates::new(52.5, -0.0).unwrap().to_string(), "52.5, 0");
    }
}
