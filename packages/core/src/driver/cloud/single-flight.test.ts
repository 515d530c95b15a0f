import { expect, test } from 'vitest';
import { singleFlight } from './single-flight.ts';

const { signal: never } = new AbortController();

function calls() {
  const begun: { readonly signal: AbortSignal; readonly answer: PromiseWithResolvers<number> }[] = [];
  const share = singleFlight((signal) => {
    const answer = Promise.withResolvers<number>();
    begun.push({ signal, answer });
    return answer.promise;
  });
  return { begun, share };
}

test('callers at the same time share one call, and the next caller starts another', async () => {
  const { begun, share } = calls();
  const both = [share(never), share(never)];
  expect(begun).toHaveLength(1);
  begun[0]?.answer.resolve(1);
  expect(await Promise.all(both)).toEqual([1, 1]);
  const next = share(never);
  begun[1]?.answer.resolve(2);
  expect(await next).toBe(2);
});

test('all callers get a failure, and it is not kept', async () => {
  const { begun, share } = calls();
  const both = [share(never), share(never)];
  begun[0]?.answer.reject(new Error('no'));
  expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const next = share(never);
  begun[1]?.answer.resolve(2);
  expect(await next).toBe(2);
});

test('a caller that leaves does not end it for the others; the last one aborts it', async () => {
  const { begun, share } = calls();
  const [a, b] = [new AbortController(), new AbortController()];
  const [first, second] = [share(a.signal), share(b.signal)];
  a.abort(new Error('a leaves'));
  await expect(first).rejects.toThrow('a leaves');
  expect(begun[0]?.signal.aborted).toBe(false);
  b.abort(new Error('b leaves'));
  await expect(second).rejects.toThrow('b leaves');
  expect(begun[0]?.signal.aborted).toBe(true);
  begun[0]?.answer.reject(new Error('given up'));
  const later = share(never);
  expect(begun).toHaveLength(2);
  begun[1]?.answer.resolve(3);
  expect(await later).toBe(3);
  await expect(share(a.signal)).rejects.toThrow('a leaves');
});
