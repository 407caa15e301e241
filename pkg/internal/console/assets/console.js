// Follows the changes of a page: the stream that the page names says when it changed, and the parts that did are replaced
// from the same address. Without this script a page is as it was when it was opened.
"use strict";

const shown = new Map(); // what the server sent of each part

const parts = (root) => new Map([...root.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));

// replace shows a part as it is now. What a user opened, focused or scrolled there stays so.
function replace(old, now) {
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  const scrolled = [...old.querySelectorAll("[id]")].map((e) => [e.id, e.scrollLeft, e.scrollTop]);
  const toggled = new Map([...old.querySelectorAll("details[id]")].map((e) => [e.id, e.open]));
  old.replaceChildren(...now.cloneNode(true).childNodes);
  for (const details of old.querySelectorAll("details[id]")) {
    if (toggled.has(details.id)) details.open = toggled.get(details.id);
  }
  reveal(old);
  for (const [id, left, top] of scrolled) {
    if (left || top) document.getElementById(id)?.scrollTo(left, top);
  }
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

let isFetching = false, isStale = false;

async function refresh() {
  isStale = true;
  if (isFetching) return;
  isFetching = true;
  try {
    while (isStale) {
      isStale = false;
      const response = await fetch(location.href, { cache: "no-store" });
      if (!response.ok) return;
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const olds = parts(document);
      for (const [name, now] of parts(page)) {
        const old = olds.get(name);
        if (!old || shown.get(name) === now.innerHTML) continue;
        shown.set(name, now.innerHTML);
        replace(old, now);
        if (now.dataset.says) document.getElementById("news").textContent = now.dataset.says;
      }
      document.body.dataset.live = page.body.dataset.live || "";
    }
  } catch {
    // the server is gone; the stream connects again
  } finally {
    isFetching = false;
  }
}

let stream = null;

// follow opens the stream while the page is visible: browsers allow few connections to a server.
function follow() {
  const isWanted = !document.hidden && document.body.dataset.live;
  if (!isWanted && stream) {
    stream.close();
    stream = null;
  } else if (isWanted && !stream) {
    stream = new EventSource(document.body.dataset.live);
    stream.onmessage = refresh;
  }
}

// Ages go on, and so does the time axis: what has ended shrinks, and what has not ends now.
function count() {
  for (const table of document.querySelectorAll("table[data-from]")) {
    const from = Date.parse(table.dataset.from);
    const width = 1000 * Math.max(1, (Date.now() - from) / Math.max(1, Date.parse(table.dataset.to) - from));
    for (const svg of table.querySelectorAll("svg")) svg.setAttribute("viewBox", `0 0 ${width} 14`);
    for (const bar of table.querySelectorAll("[data-open]")) bar.setAttribute("width", width - bar.getAttribute("x"));
  }
  for (const cell of document.querySelectorAll("[data-age]")) {
    const text = coarse(Math.abs(Date.now() - Date.parse(cell.dataset.age)));
    if (cell.textContent !== text) cell.textContent = text;
  }
}

function coarse(ms) {
  const s = ms / 1000;
  if (s < 120) return `${Math.floor(s)} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} days`;
}

for (const [name, part] of parts(document)) shown.set(name, part.innerHTML);
document.addEventListener("visibilitychange", follow);
setInterval(count, 1000);
follow();

// A link to a line of a text selects the line there.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-line]");
  if (!link) return;
  const text = document.getElementById(link.hash.slice(1));
  const lines = text.value.split("\n");
  const from = lines.slice(0, link.dataset.line - 1).join("\n").length + (link.dataset.line > 1 ? 1 : 0);
  event.preventDefault();
  text.focus();
  text.setSelectionRange(from, from + lines[link.dataset.line - 1].length);
  text.scrollTop = (text.scrollHeight / lines.length) * (link.dataset.line - 4);
});

// Buttons that copy a text are there only with this script.
const reveal = (root) => root.querySelectorAll("[data-copy]").forEach((button) => { button.hidden = false; });
reveal(document);
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(text.value ?? text.textContent);
  document.getElementById("news").textContent = button.textContent = "Copied";
});
