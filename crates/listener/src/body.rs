//! A request body that marks its connection as waiting while more of it is awaited.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use crate::table::Handle;

/// The body of a request. While more of it is awaited, the connection counts as waiting for its client.
#[derive(Debug)]
pub struct RequestBody {
    incoming: Incoming,
    handle: Handle,
    is_awaited: bool,
}

impl RequestBody {
    pub(crate) fn new(incoming: Incoming, handle: Handle) -> Self {
        Self {
            incoming,
            handle,
            is_awaited: false,
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.incoming).poll_frame(context);
        if polled.is_pending() != self.is_awaited {
            self.is_awaited = polled.is_pending();
            if self.is_awaited {
                self.handle.waiting();
            } else {
                self.handle.working();
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
