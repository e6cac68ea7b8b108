//! `[listen]` of the exchange's file: address, URLs for clients, trusted proxies.

use std::net::{IpAddr, SocketAddr};

use cambist_config::reader::{At, Section};

/// Address and URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Address and port.
    pub address: SocketAddr,
    /// URL for clients, without a trailing slash, if it differs from the address.
    pub public_url: Option<String>,
    /// Further base URLs that request signatures may cover, without trailing slashes.
    pub further_urls: Vec<String>,
    /// Trusted proxies, whose `X-Forwarded-For` is used.
    pub trusted_proxies: Vec<IpAddr>,
    /// Origin whose web pages may send requests, `*` for all; `None` for none.
    pub cors_origin: Option<String>,
}

pub(super) fn read(mut section: Section<'_, '_>) -> Listen {
    let address = section.or("address", SocketAddr::from(([127, 0, 0, 1], 8_787)));
    let public_url = section.opt::<String>("public_url");
    let further_urls = section.opt::<Vec<String>>("further_urls");
    let allow_remote = section.or("allow_remote", false);
    let cors_origin = cors_origin(&mut section);
    let trusted_proxies = section.or("trusted_proxies", Vec::<IpAddr>::new());
    if !address.value.ip().is_loopback() && !allow_remote.value {
        let what = "listen.address is reachable from other machines and speaks plain HTTP; use 127.0.0.1, or state listen.allow_remote = true";
        section.problem(address.at, what);
    }
    if let (None, Some(further)) = (&public_url, &further_urls) {
        let what = "listen.further_urls needs listen.public_url: without one, every address that clients name is accepted";
        section.problem(further.at, what);
    }
    let public_url = public_url.and_then(|url| base_url(&section, "listen.public_url", &url));
    let further = further_urls.map_or_else(Vec::new, |At { value, at }| {
        let urls = value.into_iter().map(|value| At { value, at });
        urls.filter_map(|url| base_url(&section, "listen.further_urls", &url))
            .collect()
    });
    section.finish();
    Listen {
        address: address.value,
        public_url,
        further_urls: further,
        trusted_proxies: trusted_proxies.value,
        cors_origin,
    }
}

/// Scheme, host, optional port and path: the part of the URL that signatures cover.
fn base_url(section: &Section<'_, '_>, key: &str, url: &At<String>) -> Option<String> {
    let bare = url.value.trim_end_matches('/');
    let behind = ["https://", "http://"]
        .iter()
        .find_map(|scheme| bare.strip_prefix(scheme));
    let has_host = behind.is_some_and(|rest| !rest.is_empty() && !rest.starts_with([':', '/']));
    let plain = bare
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && !b"?#@%\"\\".contains(&byte));
    let has_paths = bare.ends_with("/api/v3");
    if has_host && plain && !has_paths {
        return Some(bare.to_owned());
    }
    let what = format!(
        "{key} must be addresses such as \"https://exchange.example\": http or https, a host, perhaps a port and a path, without /api/v3"
    );
    section.problem(url.at, what);
    None
}

/// An origin as browsers write it: scheme, host, optional port, without a path.
fn cors_origin(section: &mut Section<'_, '_>) -> Option<String> {
    let found = section.opt::<String>("cors_origin")?;
    let host = found.value.split_once("://").map(|(_, host)| host);
    let is_origin = host.is_some_and(|host| !host.is_empty() && !host.contains('/'));
    let visible = found.value.bytes().all(|byte| byte.is_ascii_graphic());
    if visible && (is_origin || found.value == "*") {
        return Some(found.value);
    }
    let what = "listen.cors_origin must be an origin such as \"https://app.example\", without a path, or \"*\"";
    section.problem(found.at, what);
    None
}
