//! A relay in front of the exchange that can lose an answer after the request was executed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub struct Cut {
    pub url: String,
    loses: Arc<AtomicBool>,
}

impl Cut {
    pub async fn before(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = format!("http://{}", listener.local_addr().unwrap());
        let venue = url.strip_prefix("http://").unwrap().to_owned();
        let loses = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&loses);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (venue, loses) = (venue.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    let venue = TcpStream::connect(venue).await.unwrap();
                    relay(client, venue, &loses).await;
                });
            }
        });
        Self { url: own, loses }
    }

    /// The next answer is read from the venue, and the connection to the client is closed without it.
    pub fn lose_next_answer(&self) {
        self.loses.store(true, Ordering::SeqCst);
    }
}

async fn relay(client: TcpStream, venue: TcpStream, loses: &AtomicBool) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_venue, mut to_venue) = venue.into_split();
    let requests = tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from_client, &mut to_venue).await;
    });
    let mut buffer = vec![0; 65_536];
    while let Ok(read @ 1..) = from_venue.read(&mut buffer).await {
        if loses.swap(false, Ordering::SeqCst) {
            break;
        }
        if to_client.write_all(&buffer[..read]).await.is_err() {
            break;
        }
    }
    requests.abort();
}
