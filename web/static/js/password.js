// Says, while somebody types a new password, how good it is. The server judges for itself, and also refuses those that
// are tried first.
import { number, say } from "./words.js";

const least = 10, long = 20, phrase = 16; // characters

// isName says whether a password is one of some names with nothing but digits and signs added.
function isName(password, names) {
  const typed = password.trim().toLowerCase();
  return names.map((name) => (name ?? "").trim().toLowerCase())
    .some((name) => name && typed.includes(name) && !/\p{L}/u.test(typed.replaceAll(name, "")));
}

function judge(password, names) {
  const length = [...password].length;
  if (length === 0) return ["", false];
  if (length === least - 1) return [say("password_one_more"), false];
  if (length < least) return [say("password_more", { Number: number(least - length) }), false];
  if (isName(password, names)) return [say("password_own"), false];
  const words = new Set(password.toLowerCase().split(/[^\p{L}]+/u).filter((word) => word.length > 1));
  const letters = password.match(/\p{L}/gu)?.length ?? 0;
  if (length >= phrase && words.size >= 3 && letters >= length * 0.7) return [say("password_words"), true];
  if (length >= long && new Set(password).size > least) return [say("password_long"), true];
  return [say("password_enough"), false];
}

for (const input of document.querySelectorAll("input[type=password][autocomplete=new-password]")) {
  const verdict = document.createElement("output");
  verdict.className = "help verdict";
  verdict.htmlFor = input.id;
  const help = document.getElementById(input.getAttribute("aria-describedby")?.split(" ")[0]);
  (help ?? input).after(verdict);
  const form = input.form, value = (name) => form?.elements.namedItem(name)?.value;
  (form ?? input).addEventListener("input", () => { // the name may be typed later
    const [said, good] = judge(input.value, [value("name"), value("username"), "reprise"]);
    if (verdict.textContent !== said) verdict.textContent = said;
    verdict.classList.toggle("good", good);
  });
}
