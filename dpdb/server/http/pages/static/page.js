"use strict";
// What the forms do without this script, without a new page: the parts of the next page that
// differ take the place of those of this one. While a statement is typed, its price is asked for.

const form = document.getElementById("ask");
const editor = document.getElementById("statement");
const pause = 300;
let timer = null, pricing = null, running = null;

document.documentElement.classList.add("with-script");

async function asked(values, signal) {
  const body = new URLSearchParams(new FormData(form));
  for (const [name, value] of Object.entries(values)) body.set(name, value);
  const reply = await fetch(form.action, {method: "POST", body, signal, headers: {"Dpdb-Part": "1"}});
  if (reply.redirected) { location.assign(reply.url); throw new DOMException("", "AbortError"); }
  return new DOMParser().parseFromString(await reply.text(), "text/html");
}

function take(page, ...names) {
  for (const name of names) {
    const fresh = page.getElementById(name), old = document.getElementById(name);
    if (fresh && old) old.replaceChildren(...fresh.childNodes);
  }
  const next = page.getElementById("form");
  if (next) document.getElementById("form").value = next.value;
}

function say(text) {
  document.getElementById("price").textContent = text;
}

function forget() {
  clearTimeout(timer);
  if (pricing) pricing.abort();
}

async function price() {
  forget();
  if (!editor.value.trim() || running) return;
  pricing = new AbortController();
  try {
    take(await asked({do: "price"}, pricing.signal), "price", "explained");
  } catch (failure) {
    if (failure.name !== "AbortError") say("✕ the server does not answer");
  }
}

async function run(what) {
  forget();
  if (running) return;
  running = new AbortController();
  const answer = document.getElementById("answer");
  answer.setAttribute("aria-busy", "true");
  say(what === "run" ? "running …" : "asking …");
  try {
    const page = await asked({do: what}, running.signal);
    take(page, "answer", "budget", "history", "price", "explained");
    answer.focus();
  } catch (failure) {
    if (failure.name !== "AbortError") say("✕ the server does not answer; the same form is paid once, press Run again");
  }
  running = null;
  answer.removeAttribute("aria-busy");
}

editor.addEventListener("input", () => { forget(); timer = setTimeout(price, pause); });
editor.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run("run");
  }
});
form.addEventListener("submit", (event) => {
  const pressed = event.submitter;
  event.preventDefault();
  if (pressed && pressed.name === "insert") insert(pressed.value);
  else if (pressed && pressed.value === "price") price();
  else run(pressed ? pressed.value : "run");
});

function insert(text) {
  const start = editor.selectionStart, before = editor.value.slice(0, start);
  const space = before && !/[\s(,.]$/.test(before) ? " " : "";
  editor.setRangeText(space + text, start, editor.selectionEnd, "end");
  editor.focus();
  editor.dispatchEvent(new Event("input"));
}
