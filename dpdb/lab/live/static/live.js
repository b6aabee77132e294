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
document.addEventListener("input", (event) => {
  if (event.target.dataset.keep) typed[event.target.dataset.keep] = event.target.value;
});
addEventListener("pagehide", close);
addEventListener("pageshow", look);
begin();
