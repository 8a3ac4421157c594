//! Embeddings: texts as vectors, such that texts about the same thing have a small angle between them.

/// The most numbers of a vector; models have a few thousands at most.
const MAX_DIMENSIONS: usize = 16_384;

/// A vector of length 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Embedding(Vec<f32>);

impl Embedding {
    /// The vector scaled to length 1; `None` when it has no direction.
    pub(crate) fn new(mut values: Vec<f32>) -> Option<Self> {
        let length = values
            .iter()
            .map(|value| f64::from(*value) * f64::from(*value))
            .sum::<f64>()
            .sqrt();
        if !length.is_normal() || values.len() > MAX_DIMENSIONS {
            return None;
        }
        for value in &mut values {
            *value = (f64::from(*value) / length) as f32;
        }
        Some(Self(values))
    }

    pub(crate) fn values(&self) -> &[f32] {
        &self.0
    }

    /// The cosine of the angle between both, from -1 to 1; `None` when they come from different models.
    pub(crate) fn cosine(&self, other: &Self) -> Option<f32> {
        let products = self.0.iter().zip(&other.0).map(|(one, other)| one * other);
        (self.0.len() == other.0.len()).then(|| products.sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector(values: &[f32]) -> Embedding {
        Embedding::new(values.to_vec()).unwrap()
    }

    #[test]
    fn the_cosine_does_not_depend_on_the_length() {
        let cosine = |one: &[f32], other: &[f32]| vector(one).cosine(&vector(other));
        assert_eq!(cosine(&[2.0, 0.0], &[9.0, 0.0]), Some(1.0));
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 5.0]), Some(0.0));
        assert_eq!(cosine(&[1.0, 0.0], &[-0.1, 0.0]), Some(-1.0));
        assert_eq!(cosine(&[1.0, 0.0], &[1.0]), None);
        for no_direction in [&[][..], &[0.0, 0.0], &[f32::NAN], &[f32::INFINITY, 1.0]] {
            assert!(Embedding::new(no_direction.to_vec()).is_none());
        }
    }

    proptest! {
        #[test]
        fn every_cosine_lies_between_the_limits(
            one in prop::collection::vec(-1e30_f32..1e30, 8), other in prop::collection::vec(-1e-30_f32..1e-30, 8)
        ) {
            if let (Some(one), Some(other)) = (Embedding::new(one), Embedding::new(other)) {
                let cosine = one.cosine(&other).unwrap();
                prop_assert!((-1.001..=1.001).contains(&cosine), "{cosine}");
            }
        }
    }
}
