//! Tools by meaning: those whose description lies nearest to a message.

use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::reply::models::stage::StageModel;
use crate::reply::tools::catalogue::Catalogue;
use crate::tools::engine::tool_ranking::name_words;

/// The least similarity of a pick, as a part of the best one's.
const NEAR: f32 = 0.97;
/// Picks when fewer are as near as that, and at most.
const MIN_PICKS: usize = 3;
const MAX_PICKS: usize = 8;

/// The tools nearest to `query`, the nearest first: those that are about as near as the nearest.
///
/// # Errors
/// The model gives no embeddings.
pub(crate) fn pick(
    query: &str,
    catalogue: &Catalogue,
    model: &dyn StageModel,
) -> Outcome<Vec<String>> {
    let near = by_nearness(query, catalogue, model)?;
    Ok(nearest(&near).into_iter().map(str::to_owned).collect())
}

/// All tools with the cosine between them and `query`, the nearest first.
///
/// # Errors
/// The model gives no embeddings.
pub(crate) fn by_nearness<'c>(
    query: &str,
    catalogue: &'c Catalogue,
    model: &dyn StageModel,
) -> Outcome<Vec<(&'c str, f32)>> {
    let wanted = model.embed(&[query.to_owned()])?;
    let wanted = wanted.first().ok_or_else(no_vector)?;
    let vectors = catalogue.vectors(|| {
        let texts = catalogue
            .names()
            .map(|name| format!("{}: {}", name_words(name), catalogue.about(name)));
        model.embed(&texts.collect::<Vec<_>>())
    })?;
    let mut near = Vec::new();
    for (name, vector) in catalogue.names().zip(vectors) {
        near.push((name, wanted.cosine(vector).ok_or_else(no_vector)?));
    }
    near.shared_sort_by(|(_, one), (_, other)| other.total_cmp(one));
    Ok(near)
}

fn nearest<'c>(near: &[(&'c str, f32)]) -> Vec<&'c str> {
    let best = near.first().map_or(0.0, |(_, best)| *best);
    let count = near.partition_point(|(_, cosine)| *cosine >= NEAR * best);
    let picks = near.iter().take(count.clamp(MIN_PICKS, MAX_PICKS));
    picks.map(|(name, _)| *name).collect()
}

fn no_vector() -> Problem {
    Problem::network("The embeddings of a message and of the tools do not fit together.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_near_ones_are_picked_three_at_least_and_eight_at_most() {
        let picks = |cosines: &[f32]| {
            let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
            let mut near: Vec<_> = names.into_iter().zip(cosines.iter().copied()).collect();
            near.shared_sort_by(|(_, one), (_, other)| other.total_cmp(one));
            nearest(&near).concat()
        };
        assert_eq!(picks(&[0.1, 0.9, 0.2, 0.3]), "bdc");
        assert_eq!(picks(&[0.89, 0.9, 0.88, 0.875, 0.85]), "bacd");
        assert_eq!(picks(&[0.9; 10]), "abcdefgh");
        assert_eq!(picks(&[-0.5, -0.4, -0.9, -0.8]), "bad");
        assert_eq!(picks(&[0.5]), "a");
        assert_eq!(picks(&[]), "");
    }
}
