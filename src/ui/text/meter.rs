//! The meter of a recording: a column for each stretch of sound.

const STEPS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The column for a step of loudness; steps beyond the highest count as that.
pub(crate) fn column(step: u8) -> char {
    let step = usize::from(step).min(STEPS.len() - 1);
    STEPS.get(step).copied().unwrap_or('·')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voice::activity::METER_STEPS;

    #[test]
    fn each_step_has_a_column() {
        assert_eq!(usize::from(METER_STEPS), STEPS.len() - 1);
        assert_eq!(column(0), '·');
        assert_eq!(column(METER_STEPS), '█');
        assert_eq!(column(u8::MAX), '█');
    }
}
