//! A server between its transports and its offering: what may run, and in what form it is answered.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;

use super::answer::formed;
use super::client::Client;
use super::exchange::{Exchange, Outlet};
use super::methods::{Lasting, Method};
use super::offering::{Answer, Offering, no_method};
use crate::base::cancel::Cancel;
use crate::formats::json_rpc::{RpcError, RpcId};
use crate::mcp::revision::Era;

/// A server. It has no connections; its transports have.
pub(crate) struct Server {
    offering: Box<dyn Offering>,
}

/// A request that may run.
pub(super) struct Admitted {
    pub method: &'static Method,
    exchange: Exchange,
    params: Value,
}

impl Server {
    pub(crate) fn new(offering: Box<dyn Offering>) -> Self {
        Self { offering }
    }

    pub(super) fn offering(&self) -> &dyn Offering {
        &*self.offering
    }

    /// Whether a request may run. What it says besides its answer goes to `outlet`; it ends with `all`.
    ///
    /// # Errors
    /// There is no such method in the client's era, or it may not come now.
    pub(super) fn admit(
        &self,
        client: &Client,
        (id, method, params): (RpcId, &str, Value),
        outlet: Arc<dyn Outlet>,
        all: &Cancel,
    ) -> Result<Admitted, RpcError> {
        if !is_id(&id) {
            let words = "The id of a request is a text or a number without a fraction.";
            return Err(RpcError::new(RpcError::INVALID_REQUEST, words));
        }
        let era = client.admit(method, &params)?;
        let method = find(method, era).and_then(|method| method.is_there(self.offering()))?;
        let stop = client.begun(&id, method.lasting == Lasting::Open, all)?;
        Ok(Admitted {
            method,
            exchange: Exchange::new((id, &params), era, stop, outlet, &client.peer),
            params,
        })
    }

    /// Runs an admitted request. Never panics.
    pub(super) fn answer(&self, admitted: &Admitted) -> Answer {
        let Admitted {
            method,
            exchange,
            params,
        } = admitted;
        let run = AssertUnwindSafe(|| (method.run)(self.offering(), exchange, params));
        let result = catch_unwind(run).unwrap_or_else(|_| {
            let words = format!("{} crashed. This is a bug in Marvin.", method.name);
            Err(RpcError::new(RpcError::INTERNAL, words))
        })?;
        let about = self.offering.about();
        Ok(formed(
            result,
            exchange.era,
            &about,
            method.freshness.as_ref(),
        ))
    }
}

/// The method of that name.
///
/// # Errors
/// The era has none.
pub(super) fn find(method: &str, era: Era) -> Result<&'static Method, RpcError> {
    Method::find(method, era).ok_or_else(|| no_method(method))
}

/// Whether a client can tell by it to which of its requests an answer belongs.
fn is_id(id: &RpcId) -> bool {
    match id {
        RpcId::Number(number) => !number.is_f64(),
        RpcId::Text(_) => true,
        RpcId::Null => false,
    }
}
