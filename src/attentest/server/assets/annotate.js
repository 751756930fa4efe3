// The annotator's page: an answer is put into the queue, and the next item is shown at once; sending goes on behind.
import { Clock } from "./annotate-clock.js";
import { Items } from "./annotate-items.js";
import { Progress } from "./annotate-progress.js";
import { Queue, prefixOf, storageOf } from "./annotate-queue.js";
import { Sending } from "./annotate-sending.js";
import { Pauses, Refused, Server } from "./annotate-server.js";
import { Words, listOf } from "./annotate-text.js";

const TOO_SOON = 200; // milliseconds: a key or a finger that bounced, not an answer to what has just come
const MOST_THAT_STAYS = 200; // characters above a long text that stay in view
const NO_LINK = "This page needs your private link. Open the whole link that you were given, up to its last character.";
const $ = (id) => document.getElementById(id);
const token = location.hash.slice(1);
const server = new Server(token);
const clock = new Clock();
const asked = { highlight: $("texts").classList.contains("highlightable"), confidence: $("levels") !== null, comment: $("comment") !== null };
const own = []; // entries of this tab
let queue, sending, progress, items;
let current = null; // { item, words, relevant, confidence }
let wanted = null; // the item to show next, out of order

const show = (name) => {
  for (const section of ["problem", "instructions", "work", "done"]) $(section).hidden = section !== name;
};

const problem = (sentence) => {
  $("problem").textContent = sentence;
  show("problem");
};

const plural = (count, one, many) => (count === 1 ? `1 ${one}` : `${count} ${many}`);

// what is saved and what waits, told in the head of the page and at the end
const tell = () => {
  const done = progress.done, all = progress.order.length, waiting = sending.waiting().length;
  $("bar").value = done;
  $("count").textContent = `${done} of ${all} answered`;
  $("undo").disabled = progress.last() === null || sending.stopped !== null;
  const lines = [];
  if (sending.stopped) lines.push(`${sending.stopped} ${plural(waiting, "answer waits", "answers wait")} in this browser and will be sent when you open the new link here.`);
  else if (sending.failing && waiting) lines.push(`No connection: ${plural(waiting, "answer waits", "answers wait")} to be sent.${progress.next() < 0 ? "" : " You can continue."}`);
  if (waiting && !queue.kept) lines.push("This browser cannot store answers: keep this tab open until they are sent.");
  const [why] = sending.refused.values();
  if (why) lines.push(`${plural(sending.refused.size, "answer was", "answers were")} refused: ${why}`);
  if ($("waiting").textContent !== lines.join(" ")) $("waiting").textContent = lines.join(" ");
  const refused = sending.refused.size;
  if (waiting) $("rest").textContent = `Please keep this page open: ${plural(waiting, "answer waits", "answers wait")} to be sent.`;
  else if (refused) $("rest").textContent = `${plural(refused, "answer is", "answers are")} not saved: ${why} Please tell whoever gave you the link. They stay in this browser, and are sent again when you open the link.`;
  else $("rest").textContent = `All ${plural(done, "answer is", "answers are")} saved. You can close this page.`;
  if (sending.stopped) $("begin").disabled = true;
};

const put = (entry) => {
  const whole = queue.add(entry);
  own.push(whole);
  progress.take(whole);
  sending.wake();
  tell();
};

const draw = (item) => {
  const earlier = wanted?.item === item.id ? wanted : null; // the answer that was undone
  wanted = null;
  current = { item, relevant: null, confidence: null };
  current.words = new Words($("texts"), item, asked.highlight, earlier?.highlighted ?? []);
  $("predicted").textContent = item.predicted;
  $("marked").replaceChildren(...listOf(item));
  $("about").classList.toggle("stays", $("about").textContent.length < MOST_THAT_STAYS);
  if (asked.comment) $("comment").value = earlier?.comment ?? "";
  press();
  show("work");
  scrollTo(0, 0);
  $("item").focus({ preventScroll: true });
  clock.show(item.id, earlier?.milliseconds);
};

// the item that was asked for, or the first without an answer
const next = async () => {
  const place = wanted ? progress.order.indexOf(wanted.item) : progress.next();
  current = null;
  if (place < 0) return finish();
  if (items.at(place) === null) {
    clock.stop();
    problem("The next text is on its way. It comes as soon as there is a connection.");
    try {
      await items.need(place);
    } catch (error) {
      return problem(error.message);
    }
    if (current === null) next(); // meanwhile another tab may have answered it
    return;
  }
  items.ahead(place);
  draw(items.at(place));
};

const finish = async () => {
  show("done");
  $("thanks").focus();
  if (!sending.waiting().length) await refresh().catch(() => {});
};

const press = () => {
  const chosen = { yes: current.relevant === true, no: current.relevant === false };
  for (const [id, on] of Object.entries(chosen)) $(id).setAttribute("aria-pressed", String(on));
  for (const level of asked.confidence ? $("levels").children : []) level.setAttribute("aria-pressed", String(Number(level.value) === current.confidence));
};

// saved when everything is chosen that the study asks for
const choose = (what) => {
  if (current === null || clock.sinceShown < TOO_SOON || sending.stopped) return;
  Object.assign(current, what);
  press();
  const { item, words, relevant, confidence } = current;
  if (relevant === null || (asked.confidence && confidence === null)) return;
  const comment = asked.comment ? $("comment").value.trim() : "";
  current = null;
  put({
    kind: "answer",
    item: item.id,
    relevant,
    confidence,
    highlighted: asked.highlight ? words.highlighted : null,
    comment: comment === "" ? null : (comment.toWellFormed?.() ?? comment),
    milliseconds: clock.stop(),
  });
  next();
};

const undo = () => {
  const last = progress.last();
  if (last === null || sending.stopped) return;
  clock.stop();
  wanted = last;
  put({ kind: "undo", item: last.item });
  next();
};

const help = () => {
  if (current === null && $("done").hidden) return;
  clock.hold();
  show("instructions");
  $("begin").textContent = "Continue";
  $("begin").focus();
};

const begin = () => {
  $("actions").hidden = $("place").hidden = false;
  if (current === null) return next();
  show("work");
  clock.release();
  $("item").focus();
};

// the server's answers again: other tabs and other devices may have added some
const refresh = async () => {
  const waited = queue.entries(), before = own.length;
  const found = await server.progress();
  const entries = new Map([...waited, ...queue.entries(), ...own.slice(before)].map((entry) => [entry.key, entry]));
  progress.restart(found.answers, [...entries.values()].sort((a, b) => a.at - b.at));
  tell();
  const stale = current !== null && progress.has(current.item.id);
  if (stale || (!$("done").hidden && progress.next() >= 0)) next();
};

const keys = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.closest("textarea")) {
    if (event.key === "Escape") $("item").focus();
    return;
  }
  const name = event.key.toLowerCase();
  const digits = asked.confidence ? {} : { 1: () => choose({ relevant: true }), 2: () => choose({ relevant: false }) };
  const actions = {
    y: () => choose({ relevant: true }),
    n: () => choose({ relevant: false }),
    u: undo,
    backspace: undo,
    "?": help,
    ...digits,
    ...(asked.highlight ? { h: () => current?.words.focus() } : {}),
    ...(asked.comment ? { c: () => $("comment").focus() } : {}),
  };
  const inWork = !$("work").hidden;
  if (asked.confidence && inWork && /^[1-5]$/.test(name)) choose({ confidence: Number(name) });
  else if (Object.hasOwn(actions, name) && (inWork || (!$("done").hidden && actions[name] === undo))) actions[name]();
  else return;
  event.preventDefault();
};

const listen = () => {
  $("yes").onclick = () => choose({ relevant: true });
  $("no").onclick = () => choose({ relevant: false });
  for (const level of asked.confidence ? $("levels").children : []) level.onclick = () => choose({ confidence: Number(level.value) });
  $("undo").onclick = undo;
  $("help").onclick = help;
  $("begin").onclick = begin;
  document.addEventListener("keydown", keys);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && refresh().catch(() => {}));
  addEventListener("storage", (event) => {
    const entry = queue.heard(event);
    if (entry === null) return;
    progress.take(entry);
    tell();
    if (current?.item.id === entry.item && progress.has(entry.item)) next();
  });
  addEventListener("beforeunload", (event) => {
    if (!queue.kept && sending.waiting().length) event.preventDefault();
  });
};

const load = async () => {
  const pauses = new Pauses();
  for (;;) {
    try {
      return await server.progress();
    } catch (error) {
      if (error instanceof Refused) throw error;
      problem("No connection to the server. The page tries again by itself.");
      await pauses.wait();
    }
  }
};

const open = async () => {
  if (token === "") return problem(NO_LINK);
  let found;
  try {
    found = await load();
  } catch (error) {
    return problem(error.message);
  }
  queue = new Queue(prefixOf(found.study, found.annotator), storageOf());
  progress = new Progress(found.items);
  items = new Items(server, found.items.length);
  let left = null;
  sending = new Sending(queue, server, () => {
    tell();
    const waiting = sending.waiting().length;
    if (waiting === 0 && left !== 0 && !$("done").hidden) refresh().catch(() => {});
    left = waiting;
  });
  progress.restart(found.answers, queue.entries());
  $("who").textContent = found.annotator;
  $("begin").disabled = false;
  listen();
  tell();
  sending.wake();
  refresh().catch(() => {}); // another tab may have sent what was neither stored nor waiting when this one looked
  if (progress.done > 0) return begin();
  show("instructions");
  $("begin").focus();
  items.need(Math.max(0, progress.next())).catch((error) => problem(error.message));
};

addEventListener("hashchange", () => location.reload()); // another link in the same tab
addEventListener("pageshow", (event) => event.persisted && location.reload());
open();
