import { sampled } from '@mcm/kube/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { inAwsEnvironment } from '../drivers/aws-environment.ts';
import { CASES } from './cases.ts';
import { CLOUDS } from './clouds.ts';
import type { Case } from './sample.ts';
import { TwoClasses } from './two-classes.ts';

/** Invalid input for the real drivers, with clouds that verify credentials. */

let back: () => void;
beforeAll(async () => {
  back = await inAwsEnvironment();
  delete process.env.AWS_ENDPOINT_URL;
});
afterAll(() => back());

const opened: TwoClasses[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

const MINUTE = 60_000;
const WATCHED_MS = 50 * MINUTE;
/** Every three minutes, each machine causes one status request and one creation request. Each request needs a login. */
const MOST_CALLS = 160;

async function expectReported(two: TwoClasses, { event, says }: Case): Promise<void> {
  const warnings = await two.warnings('odd');
  expect(warnings.map(({ text }) => text).join('\n')).toMatch(event);
  for (const { text, count } of warnings) expect(count, text).toBe(1);
  for (const name of ['odd-0', 'odd-1']) {
    if (says === 'it works') expect((await two.machine(name)).spec.providerID).toBeTruthy();
    else expect(await two.status(name)).toMatch(says);
  }
}

describe.each(Object.entries(CASES))('%s', (provider, cases) => {
  test.each(sampled(cases, 8, 3).map((each) => [each.what, each] as const))('%s', async (_what, bad) => {
    const open = CLOUDS[provider];
    if (!open) throw new Error(`there is no cloud of ${provider}`);
    const { variables = {}, files = {} } = bad;
    const two = await TwoClasses.start((environment) => open({ ...environment, variables, files }));
    opened.push(two);
    const before = await two.clock.now().getTime();
    await two.addOdd(bad);
    await two.clock.advance(5 * MINUTE);
    await two.make('ordinary', 1, 1);
    expect(await two.untilWorks('ordinary-1')).toBeLessThan(5 * MINUTE);
    await two.clock.advance(WATCHED_MS - (two.clock.now().getTime() - before));
    await expectReported(two, bad);
    const calls = [...two.asked.values()].reduce((all, each) => all + each, 0);
    expect(calls, JSON.stringify([...two.asked])).toBeLessThan(MOST_CALLS);
    const readable = await two.readable();
    for (const secret of bad.secrets ?? []) expect(readable).not.toContain(secret);
    for (const secret of Object.values(bad.secret ?? {}))
      if (secret.length > 8) {
        expect(readable).not.toContain(secret);
        expect(readable).not.toContain(Buffer.from(secret).toString('base64'));
      }
  });
});
