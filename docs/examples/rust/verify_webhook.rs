//! Receive webhooks and believe only those that the service signed.

use std::{env, error::Error, time::SystemTime};

use data_encoding::BASE64;
use hmac::{Hmac, Mac};
use serde_json::Value;
use sha2::Sha256;
use tiny_http::{Request, Response, Server};

const TOLERANCE: u64 = 5 * 60; // seconds

fn header<'a>(request: &'a Request, name: &'static str) -> Option<&'a str> {
    let found = request.headers().iter().find(|one| one.field.equiv(name));
    found.map(|one| one.value.as_str())
}

fn is_genuine(secret: &[u8], request: &Request, body: &[u8]) -> Option<bool> {
    let id = header(request, "webhook-id")?;
    let timestamp = header(request, "webhook-timestamp")?;
    let signatures = header(request, "webhook-signature")?;
    let now = SystemTime::UNIX_EPOCH.elapsed().ok()?.as_secs();
    if now.abs_diff(timestamp.parse().ok()?) > TOLERANCE {
        return None;
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    // While a secret is being replaced there are two signatures, separated by a space.
    let genuine = signatures.split(' ').any(|signature| {
        let given = signature
            .strip_prefix("v1,")
            .and_then(|text| BASE64.decode(text.as_bytes()).ok());
        given.is_some_and(|given| mac.clone().verify_slice(&given).is_ok()) // in constant time
    });
    Some(genuine)
}

fn receive(secret: &[u8], mut request: Request) -> Result<(), Box<dyn Error>> {
    let mut body = Vec::new(); // the bytes as sent: parsing comes after the check
    request.as_reader().read_to_end(&mut body)?;
    if is_genuine(secret, &request, &body) != Some(true) {
        return Ok(request.respond(Response::empty(400))?);
    }
    let event: Value = serde_json::from_slice(&body)?;
    // The same event can come twice: act once per webhook-id, and answer at once.
    println!("{} {}", event["type"], event["data"]);
    Ok(request.respond(Response::empty(204))?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let secret = env::var("KVITOK_SECRET")?;
    let secret = BASE64.decode(secret.trim_start_matches("whsec_").as_bytes())?;
    let port = env::var("PORT").unwrap_or("8080".into());
    let server = Server::http(format!("127.0.0.1:{port}")).map_err(|error| error.to_string())?;

    for request in server.incoming_requests() {
        if let Err(error) = receive(&secret, request) {
            eprintln!("{error}");
        }
    }
    Ok(())
}
