// This script says, while somebody types a new password, how good it is. The server judges by itself, and also refuses
// those that are tried first.
"use strict";

(() => {
  const least = 10, long = 20, phrase = 16; // characters

  function judge(password) {
    const length = [...password].length;
    if (length === 0) return "";
    if (length < least) return length === least - 1 ? "One more character." : `${least - length} more characters.`;
    const words = new Set(password.toLowerCase().split(/[^\p{L}]+/u).filter((word) => word.length > 1));
    const letters = password.match(/\p{L}/gu)?.length ?? 0;
    if (length >= phrase && words.size >= 3 && letters >= length * 0.7) return "Good: long and made of words.";
    const different = new Set(password).size;
    if (length >= long && different > least) return "Good: long.";
    return "Long enough. A few random words would be better.";
  }

  for (const input of document.querySelectorAll("input[type=password][autocomplete=new-password]")) {
    const verdict = document.createElement("output");
    verdict.className = "help verdict";
    verdict.htmlFor = input.id;
    const help = document.getElementById(input.getAttribute("aria-describedby")?.split(" ")[0]);
    (help ?? input).after(verdict);
    input.addEventListener("input", () => {
      const said = judge(input.value);
      if (verdict.textContent !== said) verdict.textContent = said;
      verdict.classList.toggle("good", said.startsWith("Good"));
    });
  }
})();
