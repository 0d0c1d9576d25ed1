"use strict";
// Without this script everything still works: files are chosen by the form, and pages that wait refresh themselves.

const upload = document.getElementById("upload");

function show(drop) {
  const [file] = drop.querySelector("input").files;
  drop.classList.toggle("full", Boolean(file));
  drop.querySelector(".hint").textContent = file
    ? `${file.name}, ${(file.size / 1e6).toLocaleString("en", { maximumFractionDigits: 1 })} MB`
    : "Drop a file here or choose one.";
  check();
}

function check() {
  const most = Number(upload.dataset.most);
  const large = [...upload.querySelectorAll("input[type=file]")].flatMap((input) => [...input.files]).filter((file) => file.size > most);
  document.getElementById("trouble").textContent = large.length
    ? `${large[0].name} is larger than the ${(most / 1e6).toLocaleString("en")} MB this page takes; for more, restart with dualmatch app --max-upload SIZE.`
    : "";
  return large.length === 0;
}

if (upload) {
  for (const drop of upload.querySelectorAll(".drop")) {
    const input = drop.querySelector("input");
    input.addEventListener("change", () => show(drop));
    drop.addEventListener("dragover", (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      const files = [...event.dataTransfer.files];
      const drops = [...upload.querySelectorAll(".drop")];
      // Two files at once are the first and the second.
      for (const [place, each] of (files.length > 1 ? drops : [drop]).entries()) {
        if (!files[place]) continue;
        const one = new DataTransfer();
        one.items.add(files[place]);
        each.querySelector("input").files = one.files;
        show(each);
      }
    });
    show(drop); // a browser that comes back keeps what was chosen
  }
  // A file beside its field must not replace the page.
  for (const kind of ["dragover", "drop"]) document.addEventListener(kind, (event) => event.preventDefault());
}

// A form is sent once, however often it is pressed.
document.addEventListener("submit", (event) => {
  const isTooLarge = event.target === upload && !check();
  if (event.target.dataset.sent || isTooLarge) event.preventDefault();
  if (event.target.method === "post" && !isTooLarge) event.target.dataset.sent = "yes";
});
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

async function follow(status) {
  const answer = await fetch(status.dataset.state, { credentials: "same-origin" });
  if (!answer.ok) throw new Error(String(answer.status));
  const now = await answer.json();
  if (!now[status.dataset.what]) {
    location.reload();
    return;
  }
  if (status.dataset.what === "aligning") {
    if (status.textContent !== now.words) status.textContent = now.words;
    document.getElementById("progress").value = now.done;
  }
  setTimeout(() => keepFollowing(status), 500);
}

function keepFollowing(status) {
  follow(status).catch(() => { status.textContent = "The page cannot reach dualmatch; is it still running?"; });
}

const running = document.getElementById("running");
if (running) keepFollowing(running);
