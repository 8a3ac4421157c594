//! What is left of root's rights in a sandbox. Landlock and the filter see files and calls; a capability goes around both. See capabilities(7).

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

use crate::base::problem::io_words;

/// What ordinary work of root in a container needs: files of any owner and mode where Landlock lets them be written (git, tar, npm), installers and
/// servers that become another user, and end what they started as one, and ports below 1024. All others reach processes outside (`PERFMON` alone lets
/// `/proc/PID/environ` be read past Landlock), terminals, devices, the network's set-up or the kernel.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::NET_BIND_SERVICE);
/// Capabilities that a kernel can have.
const MAX_CAPABILITIES: u32 = 64;

/// Drops all others for this thread and whatever it becomes. It must be unable to gain privileges by then, as Landlock requires.
pub(super) fn drop_all_but_kept() -> Result<(), String> {
    let failed = |error: Errno| format!("capabilities: {}", io_words(&error.into()));
    let has = capabilities(None).map_err(failed)?;
    if has.permitted.is_empty() && has.inheritable.is_empty() {
        return Ok(());
    }
    for number in 0..MAX_CAPABILITIES {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if KEPT.contains(one) {
            continue;
        }
        match remove_capability_from_bounding_set(one) {
            // The kernel's last was the one before; or this process may not, and then no program that it starts gains one either.
            Err(Errno::INVAL | Errno::PERM) => break,
            done => done.map_err(failed)?,
        }
    }
    match clear_ambient_capability_set() {
        Ok(()) | Err(Errno::INVAL) => {}
        Err(error) => return Err(failed(error)),
    }
    let kept = CapabilitySets {
        effective: has.effective & KEPT,
        permitted: has.permitted & KEPT,
        inheritable: has.inheritable & KEPT,
    };
    set_capabilities(None, kept).map_err(failed)
}
