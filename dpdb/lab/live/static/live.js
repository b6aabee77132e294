"use strict";
// Keeps the part of the page that changes fresh. Each event is the whole state, so after a sleep
// or a reload the next one is enough. A hidden page has no connection.

const offline = document.getElementById("offline");
let live = null, source = null, typed = {};

function take(event) {
  const state = JSON.parse(event.data);
  offline.hidden = true;
  if (state.page !== live.dataset.page) { turn(); return; }
  const fresh = new DOMParser().parseFromString(state.html, "text/html").body;
  if (fresh.innerHTML === live.innerHTML) return;
  const focused = live.contains(document.activeElement) && document.activeElement.id;
  live.replaceChildren(...fresh.childNodes);
  if (focused && document.getElementById(focused)) document.getElementById(focused).focus();
}

// The class is on another page: its forms come with it. What was typed comes back with its field.
async function turn() {
  close();
  try {
    const reply = await fetch(location.pathname);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    document.querySelector("main").replaceWith(page.querySelector("main"));
    begin();
  } catch {
    lost();
  }
}

function lost() {
  close();
  offline.hidden = false;
  setTimeout(look, 2000);
}

function open() {
  source = new EventSource(live.dataset.events);
  source.addEventListener("message", take);
  source.addEventListener("error", () => {
    offline.hidden = false;
    if (source && source.readyState === EventSource.CLOSED) lost();
  });
}

function close() {
  if (source) source.close();
  source = null;
}

function look() {
  if (document.hidden) close();
  else if (live && !source) open();
}

function begin() {
  live = document.getElementById("live");
  for (const field of document.querySelectorAll("[data-keep]")) {
    if (!field.value && field.dataset.keep in typed) field.value = typed[field.dataset.keep];
  }
  look();
}

// Clocks go on between two events.
setInterval(() => {
  for (const clock of document.querySelectorAll("[data-running]")) {
    const left = Math.max(0, Number(clock.dataset.left) - 1);
    clock.dataset.left = left;
    clock.textContent = Math.floor(left / 60) + ":" + String(left % 60).padStart(2, "0");
  }
}, 1000);

document.addEventListener("visibilitychange", look);
let keeping = null;

// Sends the answers of a sheet while they are typed.
function keep(form) {
  const body = new URLSearchParams(new FormData(form));
  body.set("do", "keep");
  fetch(form.action, {method: "POST", body, redirect: "manual"}).then(
    () => { offline.hidden = true; }, () => { offline.hidden = false; setTimeout(keep, 2000, form); });
}

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (form && "autosave" in form.dataset) { clearTimeout(keeping); keeping = setTimeout(keep, 500, form); }
  if (event.target.dataset.keep) typed[event.target.dataset.keep] = event.target.value;
});
addEventListener("pagehide", close);
addEventListener("pageshow", look);
begin();
