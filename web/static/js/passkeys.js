// For the sign-in page and that of the account: signs in with a passkey, or adds one.
import { at } from "./words.js";

const part = document.querySelector(".passkeys");
const button = part?.querySelector("button");
const adds = button?.id === "passkey-add";

// tell shows a sentence of the page in place of the others, or the text of an answer.
function tell(id, text) {
  for (const p of part.querySelectorAll("[data-said]")) {
    p.hidden = p.dataset.said !== id;
    if (!p.hidden && text) p.textContent = text;
  }
}

async function ask(path, body) {
  const answer = await fetch(at(`/api/v1${path}`), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body ?? {}),
  });
  if (answer.ok) return answer.status === 204 ? null : answer.json().catch(() => null);
  const problem = await answer.json().catch(() => ({}));
  if (problem.fields?.confirm) {
    location.assign(at(`/confirm?after=${encodeURIComponent("/settings/account#passkeys")}`));
    return new Promise(() => {}); // the page is being left
  }
  throw new Error(problem.detail ?? "");
}

const begins = adds ? "/account/passkeys/options" : "/session/passkey/options";
const ends = { "passkey-add": "/account/passkeys", "passkey-confirm": "/account/confirm" }[button?.id] ??
  "/session/passkey";

async function use() {
  button.disabled = true;
  tell("");
  try {
    const options = JSON.parse((await ask(begins)).options);
    const credential = adds
      ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
      : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
    await ask(ends, { credential: JSON.stringify(credential.toJSON()) });
    if (adds) location.reload();
    else location.assign(at(part.querySelector("input").value));
  } catch (err) {
    // Of what the browser says, nothing is for people: they have seen its dialog.
    tell("failed", err instanceof DOMException ? "" : err.message);
    button.disabled = false;
  }
}

if (part && button) {
  if (location.origin !== part.dataset.origin) tell("elsewhere");
  else if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) tell("unable");
  else {
    button.hidden = false;
    button.addEventListener("click", use);
  }
}
