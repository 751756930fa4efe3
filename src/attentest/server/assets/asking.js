// Questions to the server. Of several of one kind, the last one wins.
export class CalledOff extends Error {}

const SILENT = "The server does not answer. Check that attentest serve is still running, then try again.";

const answerOf = async (path, body, signal) => {
  const post = { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  try {
    const answer = await fetch(path, { ...(body === undefined ? {} : post), signal });
    if (answer.ok) return answer;
    const found = await answer.json().catch(() => ({}));
    throw new Error(found.error ?? `The server answered with error ${answer.status}. Try again, or reload the page.`);
  } catch (error) {
    if (error.name === "AbortError") throw new CalledOff();
    throw error instanceof TypeError ? new Error(SILENT) : error;
  }
};

// a new question calls off the one before it
export const asker = () => {
  let current = null;
  return async (path, body, read = (answer) => answer.json()) => {
    current?.abort();
    const own = new AbortController();
    current = own;
    try {
      const found = await read(await answerOf(path, body, own.signal));
      if (own.signal.aborted) throw new CalledOff();
      return found;
    } catch (error) {
      throw own.signal.aborted ? new CalledOff() : error;
    }
  };
};

// one question at a time, so that a hand that moves fast does not fill the server's queue: of those that come
// meanwhile only the last is asked, and after it nothing older is answered
export const oneAtATime = (answered, failed) => {
  let waiting = null;
  let busy = false;
  return async (path, body) => {
    waiting = { path, body };
    if (busy) return;
    busy = true;
    while (waiting) {
      const asked = waiting;
      waiting = null;
      try {
        const found = await (await answerOf(asked.path, asked.body)).json();
        answered(found, asked.body, waiting !== null);
      } catch (error) {
        if (!waiting) failed(error);
      }
    }
    busy = false;
  };
};

// what went wrong as a sentence; what was called off is nobody's concern
export const sentenceOf = (error) => (error instanceof CalledOff ? null : error.message);
