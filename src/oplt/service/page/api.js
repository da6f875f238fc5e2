// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
// Requests to the server: tokens, errors, and integers that are too large for a number of JavaScript.

const TOKEN = "oplt-token";
const PATIENCE = 40000; // milliseconds; the server answers within 30 seconds
const ROOT = new URL("v1/", new URL(".", location.href.replace(/[?#].*$/, "")));

/** What the server, or the way to it, says against a request. */
export class RequestError extends Error {
  constructor(code, message, status = 0) {
    super(message);
    this.code = code;
    this.status = status;
  }

  get isLost() {
    return this.code === "no-connection";
  }
}

/** Tells the page about the connection ("lost", "found") and about tokens ("token": one is needed). */
export const events = new EventTarget();

export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  set: (value) => (value ? sessionStorage.setItem(TOKEN, value) : sessionStorage.removeItem(TOKEN)),
};

/** Reads JSON. Where the browser can tell, an integer that a number cannot hold becomes a BigInt. */
function parse(text) {
  return JSON.parse(text, (_, value, context) => {
    const isLarge = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
    return isLarge && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context.source) : value;
  });
}

function written(body) {
  return JSON.stringify(body, (_, value) => (typeof value === "bigint" ? JSON.rawJSON(String(value)) : value));
}

async function send(path, { method = "GET", body, headers = {}, signal } = {}) {
  const all = { ...headers };
  if (body !== undefined) all["Content-Type"] = "application/json";
  if (token.get()) all.Authorization = `Bearer ${token.get()}`;
  const limit = AbortSignal.timeout(PATIENCE);
  let answer;
  try {
    answer = await fetch(new URL(path, ROOT), {
      method,
      headers: all,
      body: body === undefined ? undefined : written(body),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      cache: "no-store",
      credentials: "same-origin",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    events.dispatchEvent(new Event("lost"));
    throw new RequestError("no-connection", "The server cannot be reached.");
  }
  events.dispatchEvent(new Event("found"));
  if (answer.ok) return answer;
  throw await problemOf(answer);
}

async function problemOf(answer) {
  let found = {};
  try {
    found = parse(await answer.text()).error ?? {};
  } catch {
    // an answer of something between us and the server
  }
  const message = sentence(found.message ?? `the answer was ${answer.status}`);
  if (answer.status === 401) {
    const isWrong = token.get() !== "";
    token.set("");
    events.dispatchEvent(new CustomEvent("token", { detail: isWrong ? "wrong" : "missing" }));
  }
  return new RequestError(found.code ?? "request-refused", message, answer.status);
}

/** A message of the server as a sentence. */
function sentence(message) {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? "" : "."}`;
}

const json = async (answer) => parse(await answer.text());

/** The names of all models. */
export const modelNames = async () => (await json(await send("models"))).models;

/** The addresses of one model. */
export class ModelApi {
  constructor(name) {
    this.name = name;
    this.base = `models/${encodeURIComponent(name)}/`;
  }

  async get(path, query = {}, options = {}) {
    const chosen = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
    const text = new URLSearchParams(chosen).toString();
    return json(await send(`${this.base}${path}${text ? `?${text}` : ""}`, options));
  }

  /** Sends a request. With a `key`, it counts once, however often it is sent. */
  async post(path, body, { key, signal } = {}) {
    const headers = key ? { "Idempotency-Key": key } : {};
    return json(await send(this.base + path, { method: "POST", body, headers, signal }));
  }

  /** The address of a file, for a link. */
  address(path) {
    return new URL(this.base + path, ROOT).href;
  }

  async file(path) {
    return (await send(this.base + path)).blob();
  }
}

/** A key that no other request has. */
export function newKey() {
  const parts = crypto.getRandomValues(new Uint32Array(4));
  return `page-${Array.from(parts, (part) => part.toString(16).padStart(8, "0")).join("")}`;
}
