/** The error if the journal did not record a function result that the replay needs. */
export class NotRecorded extends Error {
  override readonly name = 'NotRecorded';
}

export const remembering =
  <K, V>(answers: Map<K, V>, ask: (key: K) => V): ((key: K) => V) =>
  (key) => {
    const known = answers.get(key);
    if (known !== undefined || answers.has(key)) return known as V;
    const answer = ask(key);
    answers.set(key, answer);
    return answer;
  };

/** @throws NotRecorded if the journal did not record the result */
export const recalling =
  <K, V>(answers: ReadonlyMap<K, V>, kind: string): ((key: K) => V) =>
  (key) => {
    if (!answers.has(key)) throw new NotRecorded(`the record does not contain ${kind} ${String(key)}`);
    return answers.get(key) as V;
  };
