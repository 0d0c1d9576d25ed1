"use strict";
// Keys press what the page shows anyway; without this script everything still works by hand.

const at = document.documentElement.dataset.at; // where the review begins
const editable = (element) => element.matches("input, select, textarea, [contenteditable]");

function press(key) {
  const dialog = document.getElementById("keys");
  if (key === "?") {
    dialog.showModal();
    return true;
  }
  for (const element of document.querySelectorAll("[data-key]")) {
    if (element.dataset.key !== key || element.disabled) continue;
    if (editable(element)) {
      element.focus();
      element.select();
    } else {
      element.click();
    }
    return true;
  }
  return false;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  if (document.getElementById("keys").open) return;
  if (editable(event.target)) {
    const isNote = event.target.name === "note" && event.key === "Enter";
    if (event.key === "Escape" || isNote) event.target.blur();
    if (isNote) event.preventDefault();
    return;
  }
  if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
  if (press(event.key)) event.preventDefault();
});

document.documentElement.classList.add("has-script");
document.getElementById("show-keys").addEventListener("click", () => document.getElementById("keys").showModal());

// A form is sent once, however often it is pressed.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  if (event.target.method === "post") event.target.dataset.sent = "yes";
});
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload(); // decisions may have been made since
});

document.getElementById("pair")?.focus({ preventScroll: true });
document.getElementById("first-found")?.focus();

async function follow(status) {
  const answer = await fetch(`${at}/again/state`, { credentials: "same-origin" });
  if (!answer.ok) throw new Error(String(answer.status));
  const now = await answer.json();
  status.textContent = now.words;
  const bar = document.getElementById("again-progress");
  if (bar && now.total) {
    bar.max = now.total;
    bar.value = now.done;
  }
  if (now.state === "running") setTimeout(() => keepFollowing(status), 300);
  else location.reload();
}

function keepFollowing(status) {
  follow(status).catch(() => { status.textContent = "The page cannot reach dualmatch; is it still running?"; });
}

// Reasons come seconds after the start: show them once they are there, unless something is being written or sent.
async function awaitReasons(notice) {
  const answer = await fetch(`${at}/prepared`, { credentials: "same-origin" });
  if (!answer.ok) throw new Error(String(answer.status));
  if (!(await answer.json()).prepared) setTimeout(() => keepAwaiting(notice), 500);
  else if (document.querySelector("[data-sent]") || editable(document.activeElement)) notice.firstChild.textContent = "What the two share is ready. ";
  else location.reload();
}

function keepAwaiting(notice) {
  awaitReasons(notice).catch(() => { notice.textContent = "The page cannot reach dualmatch; is it still running?"; });
}

const preparing = document.getElementById("preparing");
if (preparing) keepAwaiting(preparing);

const running = document.querySelector("#again[data-state=running]");
if (running) keepFollowing(running);

// Dragging over the histogram chooses a stretch of it; without a script, each bar is a link.
const brush = document.getElementById("brush");
if (brush) {
  const bars = [...brush.querySelectorAll("a")];
  const barAt = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest("#brush a");
  const stretch = (one, other) => {
    const [first, last] = [bars.indexOf(one), bars.indexOf(other)].sort((a, b) => a - b);
    return bars.slice(first, last + 1);
  };
  let from = null;
  let to = null;
  brush.addEventListener("pointerdown", (event) => { from = to = barAt(event) ?? null; });
  brush.addEventListener("dragstart", (event) => event.preventDefault());
  document.addEventListener("pointermove", (event) => {
    if (!from) return;
    to = barAt(event) ?? to;
    const chosen = stretch(from, to);
    for (const bar of bars) bar.classList.toggle("wanted", chosen.includes(bar));
  });
  document.addEventListener("pointerup", () => {
    if (from && to && from !== to) {
      const chosen = stretch(from, to);
      const where = new URL(chosen[0].getAttribute("href"), location.href);
      where.searchParams.set("low", chosen[0].dataset.low);
      where.searchParams.set("high", chosen.at(-1).dataset.high);
      location.assign(where);
    }
    from = to = null;
  });
}
