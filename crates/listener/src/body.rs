//! Bodies that say what their connection waits for.

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

/// The body of an answer. A connection takes the next frame when its client has read most of those before: each marks
/// the beginning of another wait, so that an answer that goes on for long is no stall.
#[derive(Debug)]
pub struct AnswerBody<B> {
    inner: B,
    handle: Handle,
}

impl<B> AnswerBody<B> {
    pub(crate) const fn new(inner: B, handle: Handle) -> Self {
        Self { inner, handle }
    }
}

impl<B: Body + Unpin> Body for AnswerBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        if let Poll::Ready(Some(Ok(_))) = polled {
            self.handle.waiting();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
