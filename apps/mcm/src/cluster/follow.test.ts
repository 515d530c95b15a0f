import { KubeError, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { reportOrFollow } from './follow.ts';

interface Model {
  readonly state: string;
  readonly seconds: number;
}

/** Follows a model of the cluster that the test changes. */
function follow(output: 'text' | 'json', watched?: (model: Model) => unknown) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const [said, warned]: [string[], string[]] = [[], []];
  const current = { state: 'old', failure: undefined as Error | undefined, reads: 0 };
  const telling = {
    say: (line: string) => void said.push(line),
    warn: (line: string) => void warned.push(line),
    draw: (text: string) => text,
    signal: () => stop.signal,
  };
  const read = async (): Promise<Model> => {
    current.reads += 1;
    if (current.failure) throw current.failure;
    return { state: current.state, seconds: current.reads };
  };
  const text = ({ state }: Model): string[] => [state];
  const done = reportOrFollow(telling, { output, watch: true }, { read, text, clock, ...(watched && { watched }) });
  return { clock, stop, said, warned, current, done };
}

const silent = { say: () => undefined, warn: () => undefined, draw: (text: string) => text };
const unreached = new KubeError('no answer', { code: 0 });

test('a change is printed with its time, and an outage once; the signal ends the command', async () => {
  const { clock, stop, said, warned, current, done } = follow('text');
  await clock.advance(10_000);
  expect(said).toEqual(['old']);
  expect(current.reads).toBe(6);
  current.failure = unreached;
  await clock.advance(10_000);
  expect(warned).toEqual(['mcm: no answer; retrying']);
  current.failure = undefined;
  current.state = 'new';
  await clock.advance(10_000);
  expect(said).toEqual(['old', '', expect.stringMatching(/^\d{4}-\d\d-\d\dT/), 'new']);
  stop.abort(new Error('the user ended the command'));
  await expect(done).rejects.toThrow('the user ended the command');
});

test('JSON has one line for each change', async () => {
  const { clock, stop, said, current, done } = follow('json', ({ state }) => state);
  await clock.advance(1_000);
  current.state = 'new';
  await clock.advance(10_000);
  stop.abort(new Error('ended'));
  await expect(done).rejects.toThrow('ended');
  expect(said.map((line) => JSON.parse(line).state)).toEqual(['old', 'new']);
});

test('the signal ends the command during a read without an answer', async () => {
  const stop = new AbortController();
  const read = () => Promise.withResolvers<Model>().promise;
  const telling = { ...silent, signal: () => stop.signal };
  const done = reportOrFollow(telling, { output: 'text', watch: true }, { read, text: () => [] });
  stop.abort(new Error('ended'));
  await expect(done).rejects.toThrow('ended');
});

test('an error at the first read ends the command', async () => {
  const telling = { ...silent, signal: () => new AbortController().signal };
  const read = () => Promise.reject<Model>(unreached);
  const done = reportOrFollow(telling, { output: 'text', watch: true }, { read, text: () => [] });
  await expect(done).rejects.toThrow('no answer');
});
