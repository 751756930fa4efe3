// Questions to the server. Of several of one kind, the last one wins: the others are called off and never answered.
export class CalledOff extends Error {}

export const asker = () => {
  let current = null;
  const ask = async (path, body) => {
    current?.abort();
    const own = new AbortController();
    current = own;
    try {
      const post = { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
      const answer = await fetch(path, { ...(body === undefined ? {} : post), signal: own.signal });
      const found = await answer.json().catch(() => ({}));
      if (own.signal.aborted) throw new CalledOff();
      if (!answer.ok) throw new Error(found.error ?? `The server answered with error ${answer.status}. Try again, or reload the page.`);
      return found;
    } catch (error) {
      if (own.signal.aborted || error.name === "AbortError") throw new CalledOff();
      if (error instanceof TypeError) throw new Error("The server does not answer. Check that attentest serve is still running, then try again.");
      throw error;
    }
  };
  ask.stop = () => current?.abort();
  return ask;
};

// what went wrong as a sentence; what was called off is nobody's concern
export const sentenceOf = (error) => (error instanceof CalledOff ? null : error.message);
