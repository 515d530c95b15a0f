import { expect, test } from 'vitest';
import type { Plan } from '../script/script.ts';
import { shrink } from './shrink.ts';

const planOf = (acts: string): Plan => ({
  steps: [...acts].map((act, drawn) => ({ act, pauseMs: 10, drawn })),
  lastPauseMs: 10,
  drawn: acts.length,
});
const actsOf = (plan: Plan): string => plan.steps.map(({ act }) => act).join('');

test.each([
  ['abcdefghij', 'j'],
  ['abcdefghij', 'ac'],
  ['abcdefghij', 'aej'],
  ['abcdefghij', 'abcdefghij'],
  ['a', 'a'],
  ['abc', ''],
])('of %s only the acts that cause the failure stay: %s', async (acts, needed) => {
  const stillFails = async (part: Plan) => [...needed].every((act) => actsOf(part).includes(act));
  const shrunk = await shrink(planOf(acts), stillFails);
  expect(actsOf(shrunk)).toBe(needed);
});

test('only necessary pauses stay', async () => {
  const stillFails = async ({ steps }: Plan) => steps.some(({ act, pauseMs }) => act === 'b' && pauseMs > 0);
  const { steps, lastPauseMs } = await shrink(planOf('abc'), stillFails);
  expect([steps, lastPauseMs]).toEqual([[{ act: 'b', pauseMs: 10, drawn: 1 }], 0]);
});

test('the limit of histories is respected', async () => {
  let played = 0;
  const stillFails = async (part: Plan) => {
    played += 1;
    return part.steps.length > 50;
  };
  await shrink(planOf('x'.repeat(100)), stillFails, 7);
  expect(played).toBe(7);
});
