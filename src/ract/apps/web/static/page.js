// Pages work without this. With it, plans and tried values are answered without leaving the page.
"use strict";

const number = new Intl.NumberFormat(document.documentElement.lang, { maximumSignificantDigits: 6 });

for (const button of document.querySelectorAll("button.print")) {
  button.addEventListener("click", () => window.print());
}

const form = document.getElementById("plans");
if (form && form.querySelector("fieldset.limits")) {
  const ways = document.getElementById("ways");
  const said = document.getElementById("said");
  const heading = document.getElementById("ways-title");
  let asked = 0;

  const show = () => {
    for (const limit of form.querySelectorAll(".limit")) {
      const locked = limit.querySelector("input[type=checkbox]").checked;
      for (const slider of limit.querySelectorAll("input[type=range]")) {
        slider.disabled = locked;
        slider.closest("label").querySelector("output").textContent = number.format(slider.value);
      }
    }
  };

  const ask = async () => {
    const mine = ++asked;
    ways.classList.add("busy");
    said.textContent = form.dataset.searching;
    try {
      const answer = await fetch(form.action, {
        method: "POST",
        body: new URLSearchParams(new FormData(form)),
        headers: { "X-Fragment": "1" },
      });
      const text = await answer.text();
      if (mine !== asked) return; // somebody moved on
      if (!answer.ok) throw new Error(String(answer.status));
      ways.innerHTML = text;
      said.textContent = form.dataset.found.replace("{0}", ways.querySelectorAll(".way").length);
    } catch {
      if (mine === asked) form.submit(); // the page itself says what is wrong
    } finally {
      if (mine === asked) ways.classList.remove("busy");
    }
  };

  form.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (!button || button.name === "way") return;
    event.preventDefault();
    if (button.dataset.lock) {
      for (const box of form.querySelectorAll("input[name=lock]")) {
        if (box.value === button.dataset.lock) box.checked = true;
      }
      heading.focus();
    }
    show();
    ask();
  });
  form.addEventListener("input", show);
  form.addEventListener("change", () => { show(); ask(); });
  show();
}

const trying = document.getElementById("try");
if (trying) {
  const tried = document.getElementById("tried");
  let last = 0;

  const attempt = async () => {
    const mine = ++last;
    if (!trying.checkValidity()) return;
    tried.classList.add("busy");
    try {
      const answer = await fetch(trying.action, {
        method: "POST",
        body: new URLSearchParams(new FormData(trying)),
        headers: { "X-Fragment": "1" },
      });
      const text = await answer.text();
      if (mine !== last) return; // another value was typed meanwhile
      if (!answer.ok) throw new Error(String(answer.status));
      tried.innerHTML = text;
    } catch {
      if (mine === last) trying.submit(); // the page itself says what is wrong
    } finally {
      if (mine === last) tried.classList.remove("busy");
    }
  };

  trying.addEventListener("submit", (event) => { event.preventDefault(); attempt(); });
  trying.addEventListener("change", attempt);
}
